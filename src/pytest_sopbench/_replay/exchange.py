"""An exchange with a model: a request, and the response to it.

A seam sees the traffic of one library. It asks the tape of the run for an answer, sends the request
if there is none, and gives the tape what came back::

    tape = current_tape()
    if tape is None:
        return send(...)                    # nothing is recorded or replayed in this process
    response = tape.answer(request)         # raises `MissingRecordingError` in mode `only`
    if response is None:
        try:
            response = ...                  # live
        except BaseException as error:
            tape.lost(request, error)
            raise
        tape.keep(request, response)        # once the last chunk is there
    return ...                              # the library's own type, served as a stream

A tape may be asked by several threads at a time. It never changes a request or a response.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from ipaddress import ip_address
from itertools import pairwise
from typing import Final, Literal, TypeAlias, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_sopbench._core.hiding import masked_forms, secrets_of
from pytest_sopbench._core.model.task import MASK
from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Usage
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.patterns import Pattern
from pytest_sopbench.errors import MissingRecordingError

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client is about to send; `url` is absolute, headers are as they go out."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came back; chunks are cut as they arrived, after any content encoding was undone.

    A seam leaves out what does not hold of decoded chunks: `content-encoding`, `content-length` and
    `transfer-encoding`. If `complete` is false, the agent left the stream before its end: served
    again, the chunks are followed by an error, so that nobody takes them for all there was.
    """

    status: int
    headers: Headers = ()
    chunks: tuple[bytes, ...] = ()
    complete: bool = True

    @property
    def body(self) -> bytes:
        """All chunks in one."""
        return b"".join(self.chunks)


class Tape:
    """The recorded traffic of one attempt at one run; safe for many threads.

    As it stands here it keeps nothing and misses nothing.
    """

    def answer(self, request: Request) -> Response | None:
        """Return the recorded response, or `None`: send it live, then call `keep` or `lost`.

        Raises:
            MissingRecordingError: nothing is recorded for it, and nothing may be sent.
        """
        raise NotImplementedError

    def keep(self, request: Request, response: Response) -> None:
        """Take a live response; called once for each `answer` of `None` that got one."""

    def lost(self, request: Request, error: BaseException) -> None:
        """Note a request that got no whole response: it is not recorded."""


# Requests of whoever decides about an answer: comparers, and judges that are models.

REFUSED = (
    "nothing is sent while runs are replayed, also not by what compares or judges an answer; "
    "if it has decided before, its judgement is kept and serves again"
)


class BesideTape(Tape):
    """Keeps nothing and counts nothing: what it sees is no traffic of an agent.

    A judge keeps its judgements, and they cost nothing again.
    """

    def __init__(self, *, refuses: bool) -> None:
        self._refuses = refuses

    def answer(self, request: Request) -> Response | None:
        """Have a request sent, unless nothing is."""
        del request
        if self._refuses:
            raise MissingRecordingError(REFUSED)
        return None


# Generated ids in requests: each becomes a number, in the order in which they first appear.
#
# An agent's library may make up the id of a tool call, and a provider makes up many. They name one
# another, so equal ids stay equal and different ones stay different; what they are called does not
# count. Content is left alone: arguments and results of tools, and schemas, hold ids that mean
# something.

_IDS: Final = frozenset(
    (
        "tool_call_id",
        "tool_use_id",
        "toolUseId",
        "call_id",
        "item_id",
        "previous_response_id",
        "response_id",
        "request_id",
        "requestId",
        "idempotency_key",
        "client_request_id",
        "clientRequestToken",
        "progressToken",
    )
)
_TELLING: Final = frozenset(("type", "function", "role", "jsonrpc", "args"))
"""Beside one of these, `id` names the object itself: a message, a tool call, a request."""

_CONTENT: Final = frozenset(
    (
        "arguments",
        "args",
        "parameters",
        "json",
        "response",
        "schema",
        "inputSchema",
        "input_schema",
        "tools",
        "toolConfig",
        "functions",
        "response_format",
        "metadata",
    )
)


def numbered_ids(value: JsonValue) -> JsonValue:
    """Return a body whose generated ids are numbered from 1."""
    return _numbered(value, {})


def _numbered(value: JsonValue, names: dict[object, str]) -> JsonValue:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_numbered(one, names) for one in value]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, JsonValue] = {}
    # Sorted: the order of keys does not count, and so cannot give the numbers.
    for key in sorted(value):
        one = value[key]
        if _is_id(key, one, value):
            found[key] = names.setdefault((type(one), one), f"<id {len(names) + 1}>")
        elif key in _CONTENT or (key == "input" and isinstance(one, Mapping)):
            # The arguments of a tool are an object; the conversation of a response is a list.
            found[key] = one
        else:
            found[key] = _numbered(one, names)
    return found


def _is_id(key: str, value: JsonValue, beside: Mapping[str, JsonValue]) -> bool:
    if not isinstance(value, str | int) or isinstance(value, bool) or not value:
        return False
    return key in _IDS or (key == "id" and not _TELLING.isdisjoint(beside))


# Paths into a body: `messages[0].content`, `messages[*].name`.

Step: TypeAlias = "str | int | None"
"""The name of a key, a place in a list, or `None` for every one of them."""

JsonPath: TypeAlias = "tuple[Step, ...]"

_STEP: Final = re.compile(r"\.?([^.\[\]*\s]+)|\[(\d+)\]|\.?\*|\[\*\]")


def read_path(text: str) -> JsonPath:
    """Read a path.

    Raises:
        ValueError: the text is none; its message begins with it.
    """
    steps: list[Step] = []
    place = 0
    while place < len(text):
        found = _STEP.match(text, place)
        if found is None or (place == 0 and text.startswith(".")):
            break
        steps.append(found[1] or (int(found[2]) if found[2] else None))
        place = found.end()
    if not steps or place < len(text):
        msg = f"{text}: a path of JSON expected, such as metadata.user or messages[*].name"
        raise ValueError(msg)
    return tuple(steps)


def show_path(path: Sequence[Step]) -> str:
    """Write a path as `read_path` reads it."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f"{'.' if text else ''}{'*' if step is None else step}"
    return text


def without(value: JsonValue, path: JsonPath) -> JsonValue:
    """Return a value without what a path names: keys go, items of lists become null."""
    if not path:
        return None
    step, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        return {
            key: without(one, rest) if _meets(step, key) else one
            for key, one in value.items()
            if rest or not _meets(step, key)
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [
            without(one, rest) if _meets(step, place) else one for place, one in enumerate(value)
        ]
    return value


def _meets(step: Step, one: str | int) -> bool:
    return step is None or step == one


# Credentials that a request sends: what its headers, its query and its address hold as such.
#
# A server may echo them, whole or in part, in what it says of an error. Nobody has to name what
# can be seen going out.

_SHORTEST: Final = 8
_LONG: Final = 20
"""Characters from which on a value needs no digit to be taken for a credential."""

_PART: Final = 4
"""Characters of a credential, beside a cut, from which on they are taken for a part of it."""

_MOST: Final = 64
_CUT: Final = re.compile(r"\*{2,}|\.{2,}|(?:\u2026|\\+u2026)+|(?:\u2022|\\+u2022){2,}")
"""What stands for what is left out; JSON may write it as an escape."""

_SCHEME: Final = re.compile(r"\s*[A-Za-z][A-Za-z0-9_-]*\s+(?=\S)")
_SIGNED: Final = re.compile(r"(?:Credential=|Signature=)([^/,\s]+)")

_SECRET: Final = re.compile(
    r"key|token|code|pwd|pass|sig|jwt|appid"
    r"|.*(?:(?:api|subscription|access|secret|account|private|functions?|auth|master|license)key"
    r"|accesskeyid|(?:access|auth|api|session|refresh|security|bot|id|user|csrf)token"
    r"|secret|password|passwd|signature|authorization|auth|credentials?|cookies?)"
)
"""Names of parameters, without what parts their words, in which credentials are sent."""

_OF_HEADERS: Final = re.compile(r"key|token|secret|auth|passw|cookie|credential|signature|jwt")
_NO_SECRETS: Final = frozenset(("idempotencykey", "xidempotencykey", "secwebsocketkey"))


def is_secret(name: str) -> bool:
    """Tell whether a parameter is one in which credentials are sent."""
    folded = name.lower()
    return folded.startswith("x-amz-") or _SECRET.fullmatch(_plain(folded)) is not None


def credentials_sent(request: Request) -> frozenset[str]:
    """Return what a request sends as credentials, without what anybody might say by chance."""
    return frozenset(one for one in _sent(request) if _is_credential(one))


def _sent(request: Request) -> Iterator[str]:
    where = urlsplit(request.url)
    for name, value in request.headers:
        plain = _plain(name.lower())
        if _OF_HEADERS.search(plain) and plain not in _NO_SECRETS:
            yield from _of_header(plain, value)
    for name, value in parse_qsl(where.query):
        if is_secret(name):
            yield value
    if where.password:
        yield unquote(where.password)


def _of_header(name: str, value: str) -> Iterator[str]:
    if "cookie" in name:
        yield from (one.partition("=")[2].strip() for one in value.split(";"))
        return
    if signed := _SIGNED.findall(value):
        yield from signed
        return
    bare = _SCHEME.sub("", value, count=1).strip()
    yield bare
    if value.strip().lower().startswith("basic"):
        try:
            user, _, password = base64.b64decode(bare).decode().partition(":")
        except (binascii.Error, ValueError):
            return
        yield from (f"{user}:{password}", password)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name)


def _is_credential(value: str) -> bool:
    # Keys such as `not-needed` stand for none, and replies may hold their words.
    has_digit = any(sign.isdigit() for sign in value)
    return len(value) >= _LONG or (len(value) >= _SHORTEST and has_digit)


@dataclass(frozen=True, slots=True)
class Parts:
    """Finds what servers leave of credentials: `sk-abc***6789`, and the like."""

    values: tuple[str, ...]

    def sub(self, replacement: str, text: str) -> str:
        """Return the text with the replacement for each cut and what it has left beside it."""
        done, place = "", 0
        for found in _CUT.finditer(text):
            begin, end = self._around(text, found.start(), found.end())
            if (begin, end) != found.span() and begin >= place:
                done, place = f"{done}{text[place:begin]}{replacement}", end
        return f"{done}{text[place:]}"

    def _around(self, text: str, begin: int, end: int) -> tuple[int, int]:
        before, behind = text[max(0, begin - _MOST) : begin], text[end : end + _MOST]
        heads, tails = [0], [0]
        for value in self.values:
            sizes = range(min(_MOST, len(value) - 1), 0, -1)
            head = next((size for size in sizes if before.endswith(value[:size])), 0)
            tail = next((size for size in sizes if behind.startswith(value[-size:])), 0)
            if max(head, tail) >= _PART:
                heads.append(head)
                tails.append(tail)
        return begin - max(heads), end + max(tails)


def redaction_of(sent: frozenset[str]) -> Redaction:
    """Return what takes credentials out of replies, in each form and in parts."""
    values = tuple(sorted(sent))
    return Redaction(patterns=(Parts(values),), secrets=secrets_of(values), forms=False)


# What counts of a request: method, path, query and body, and neither host nor headers.
#
# Two requests of one shape are the same to a model. Hosts differ between a proxy and a provider,
# and headers hold keys, dates and ids that a client makes up.

IGNORED: Final = "ignored"
MASKED: Final = "masked"
CHANGING: Final = "<changing>"
"""What stands for text that `sop_replay_ignore` leaves out; it is no secret, and no mark of one."""

_EXACT: Final = 2**53
_dumps = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A request, without what does not count.

    `kind` says what `body` is: `json`, `text`, `base64`, or `none` for an empty one.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    kind: str = "none"
    body: JsonValue = None

    @property
    def key(self) -> str:
        """Return what equal shapes have in common, and different ones do not."""
        text = _dumps([self.method, self.path, [*map(list, self.query)], self.kind, self.body])
        return sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaping:
    """How shapes are made: what is ignored, and what is masked if it may hold secrets.

    What `changing` matches changes with every run, such as a date in a prompt, and does not count.
    """

    ignored: tuple[JsonPath, ...] = ()
    changing: tuple[Pattern, ...] = ()
    mask: Callable[[JsonValue], JsonValue] | None = None

    def shape(self, request: Request) -> Shape:
        """Return what counts of a request."""
        where = urlsplit(request.url)
        kind, body = read_body(request.body)
        body = self.settled(numbered_ids(body) if kind == "json" else body, kind)
        # Masked before it is parted: a secret that was not encoded may hold what parts it.
        asked = str(self._masked(where.query))
        query = tuple(
            sorted(
                (name, value)
                for name, value in parse_qsl(asked, keep_blank_values=True)
                if not is_secret(name)
            )
        )
        return Shape(
            method=request.method.upper(),
            # An address with a token in it is that of every other token.
            path=masked_forms(str(self._counted(where.path or "/")), MASK),
            query=tuple((str(self._masked(name)), str(self._counted(one))) for name, one in query),
            kind=kind,
            body=self._masked(body),
        )

    @property
    def keyed_by(self) -> dict[str, list[str]]:
        """What the keys of requests depend on beside the requests, as it stands in a recording."""
        ignored = [show_path(path) for path in self.ignored]
        masked = [pattern.source for pattern in self.changing]
        return {**({IGNORED: ignored} if ignored else {}), **({MASKED: masked} if masked else {})}

    def settled(self, body: JsonValue, kind: str) -> JsonValue:
        """Return a body without what is ignored, and what changes with every run masked in it."""
        for path in self.ignored if kind == "json" else ():
            body = without(body, path)
        return body if kind == "base64" else self.settled_texts(body)

    def settled_texts(self, value: JsonValue) -> JsonValue:
        """Return a value in whose texts what changes with every run is masked."""
        if not self.changing:
            return value
        if isinstance(value, str):
            for pattern in self.changing:
                value = pattern.sub(CHANGING, value)
            return value
        if isinstance(value, Mapping):
            return {key: self.settled_texts(one) for key, one in value.items()}
        if isinstance(value, Sequence):
            return [self.settled_texts(one) for one in value]
        return value

    def settled_shape(self, shape: Shape) -> Shape:
        """Return a shape that was made otherwise, as far as it counts today."""
        return replace(
            shape,
            path=str(self.settled_texts(shape.path)),
            query=tuple((name, str(self.settled_texts(value))) for name, value in shape.query),
            body=self.settled(shape.body, shape.kind),
        )

    def _counted(self, value: str) -> JsonValue:
        return self._masked(self.settled_texts(value))

    def _masked(self, value: JsonValue) -> JsonValue:
        return value if self.mask is None else self.mask(value)


def read_body(body: bytes) -> tuple[str, JsonValue]:
    """Return what kind of body it is, and its value."""
    if not body:
        return "none", None
    try:
        return "json", json.loads(body, parse_float=_number)
    except (ValueError, RecursionError):
        # Also a text that is no UTF-8.
        pass
    try:
        return "text", body.decode()
    except UnicodeDecodeError:
        return "base64", base64.b64encode(body).decode()


def _number(text: str) -> float | int:
    """Return 0 for 0.0: in JSON they are the same number."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < _EXACT else value


# Which model a request asks, if its path says so; and whether it asks any.

_FORMS: Final = (
    # Bedrock, whose names may hold a colon.
    re.compile(r"(.*/model/)([^/]+)(/.*)"),
    # Google.
    re.compile(r"(.*/models/)([^/:]+)(:\w+)"),
    # Azure.
    re.compile(r"(.*/deployments/)([^/]+)(/.*)"),
)


def model_in_path(path: str) -> tuple[str, str]:
    """Return a path without its model, and the model; the model is empty if it has none."""
    for form in _FORMS:
        if found := form.fullmatch(path):
            return f"{found[1]}{found[3]}", found[2]
    return path, ""


_ASKING: Final = frozenset(
    ("model", "modelId", "messages", "contents", "prompt", "input", "jsonrpc")
)
_CALLS: Final = re.compile(
    r"completions|responses|messages|converse|invoke|embed|rerank|generate|predict|chat|/models?\b"
)
_PRICES: Final = "raw.githubusercontent.com"


def asks_no_model(shape: Shape, host: str) -> bool:
    """Tell whether a request is none to a model, nor to a server of tools, nor to this machine.

    A library may fetch a file, or send what it has counted, while an agent runs.
    """
    if not host or _is_near(host):
        return False
    asks = isinstance(shape.body, Mapping) and not _ASKING.isdisjoint(shape.body)
    return not asks and _CALLS.search(shape.path) is None


def host_lines(host: str) -> tuple[str, ...]:
    """Say what to do about a host that is no provider of a model."""
    alone = f"if it need not be replayed, leave it alone: sop_replay_ignore = host:{host}"
    if host != _PRICES:
        return (alone,)
    return alone, "if litellm fetches its prices there: set LITELLM_LOCAL_MODEL_COST_MAP=True"


def _is_near(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or "." not in host
    return address.is_loopback or address.is_private


# Requests that belong to no run: of a thread without the context of its run, or of a test.

Refusal = Literal["refuse", "let through"]


class OutsideTape(Tape):
    """Keeps nothing; counts what it has seen, so that the summary can tell.

    Attributes:
        seen: how many requests of unknown origin there were.
        last: what was said of the one that came last.
    """

    def __init__(self, unknown: Refusal) -> None:
        """Remember whether a request of unknown origin is refused."""
        self._unknown = unknown
        self._lock = threading.Lock()
        self.seen = 0
        self.last = ""

    def answer(self, request: Request) -> Response | None:
        # A test in the main thread may speak to a server of its own on this machine.
        if threading.current_thread() is threading.main_thread() and is_loopback(request.url):
            return None
        told = lost_context(request)
        with self._lock:
            self.seen += 1
            self.last = told
        if self._unknown == "refuse":
            raise MissingRecordingError(told)
        return None


def lost_context(request: Request) -> str:
    """Say what is wrong with a request that belongs to no run, and what to do."""
    where = urlsplit(request.url)
    host = where.hostname or ""
    thread = threading.current_thread().name
    is_beside = asks_no_model(Shaping().shape(request), host)
    more = "".join(f"{line}\n" for line in host_lines(host)) if is_beside else ""
    to = f" to {host}" if host else ""
    return (
        f"{request.method} {where.path or '/'}, sent in the thread {thread!r}{to}, belongs to no "
        f"run, so no recording can be found.\n{more}"
        "Start the thread within the context of the run: asyncio.to_thread, or\n"
        "threading.Thread(target=contextvars.copy_context().run, args=(function, ...))."
    )


def is_loopback(url: str) -> bool:
    """Tell whether an address is one of this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# Which tools a reply asks for, whichever provider it is of.
#
# All of them write a call as an object with a `name` and its arguments, in one JSON body or in the
# events of a stream. Streams that tell of a call more than once give it one id.

_ARGUMENTS: Final = frozenset(("arguments", "args", "input"))
_ASKED_CALLS: Final = frozenset(("functionCall", "toolUse", "function"))
"""Keys under which a call stands that may have no arguments, or have them later."""

_NO_CALLS: Final = frozenset(("parameters", "item_id"))
"""Keys of a tool that may be called, and of an event on the arguments of a call told before."""

_ASKED_IDS: Final = ("call_id", "toolUseId", "id")
_PRELUDE, _CHECKSUM = 12, 4
"""Bytes around the headers and the payload of a message in the event stream of AWS."""


def asked_tools(response: Response) -> tuple[str, ...]:
    """Return the names of the tools that a reply asks for, in its order."""
    names: list[str] = []
    seen: set[str] = set()
    for value in _values(response.body):
        for known, name in _calls(value, "", ""):
            if not known or known not in seen:
                names.append(name)
            seen.add(known)
    return tuple(names)


def _calls(value: JsonValue, key: str, known: str) -> Iterator[tuple[str, str]]:
    """Yield the id and the name of each call; `known` is the id of what it stands in."""
    if isinstance(value, list):
        for one in value:
            yield from _calls(one, key, "")
    elif isinstance(value, Mapping):
        found = (value[one] for one in _ASKED_IDS if isinstance(value.get(one), str))
        known = str(next(found, known))
        name = value.get("name")
        is_call = key in _ASKED_CALLS or not _ARGUMENTS.isdisjoint(value)
        if isinstance(name, str) and name and is_call and _NO_CALLS.isdisjoint(value):
            yield known, name
            return
        for inner, one in value.items():
            if isinstance(one, list | dict):
                yield from _calls(one, inner, known)


def _values(body: bytes) -> Iterator[JsonValue]:
    whole = _read(body)
    if whole is not None:
        yield whole
        return
    parts = [*_messages(body)] or [one.removeprefix(b"data:") for one in body.splitlines()]
    yield from (one for one in map(_read, parts) if one is not None)


def _messages(body: bytes) -> Iterator[bytes]:
    """Yield the payloads of the event stream of AWS."""
    at = 0
    while at + _PRELUDE <= len(body):
        length = int.from_bytes(body[at : at + 4])
        headers = int.from_bytes(body[at + 4 : at + 8])
        if not _PRELUDE + headers + _CHECKSUM <= length <= len(body) - at:
            return
        yield body[at + _PRELUDE + headers : at + length - _CHECKSUM]
        at += length


def _read(text: bytes) -> JsonValue:
    if text.strip()[:1] not in {b"{", b"["}:
        return None
    try:
        return cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        return None


# What was recorded of one trial: its exchanges, in the order in which requests were sent.


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One exchange; `key` is that of its shape."""

    key: str
    shape: Shape
    response: Response

    @property
    def asked(self) -> tuple[str, ...]:
        """The names of the tools that the reply asks for, in its order."""
        return asked_tools(self.response)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The exchanges of one trial.

    Attributes:
        exchanges: in the order in which their requests were sent.
        recorded: when, in UTC, as ISO 8601; empty while it is being made.
        usage: what the run consumed then.
    """

    exchanges: tuple[Recorded, ...] = ()
    recorded: str = ""
    usage: Usage = field(default=UNKNOWN_USAGE)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were asked, each once."""
        return tuple(dict.fromkeys(filter(None, map(model_of, self.exchanges))))


def model_of(one: Recorded) -> str:
    """Return which model a request asks, by its body or its path; empty if neither says."""
    body = one.shape.body
    named = body.get("model") or body.get("modelId") if isinstance(body, dict) else None
    if isinstance(named, str):
        return named
    parts = one.shape.path.split("/")
    for before, part in pairwise(parts):
        if before in {"model", "models"}:
            return part.partition(":generateContent")[0].partition(":streamGenerateContent")[0]
    return ""
