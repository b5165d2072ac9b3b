"""What is wrong with a reply: broken ones told from bugs, and what goes back of a bad call.

A server may send no reply, or one that lacks something. Then the client says what came, without
keys. A model may ask for calls that its provider refuses in the history. Then they are made valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, cast

from pytest_sopbench.agents.conversation import ModelRequest, as_object

FILTERED: Final = "content_filter"
"""The code of an error that says that the provider's filter has refused a request."""

FindFault: TypeAlias = Callable[[Mapping[str, Any]], str]
"""Says what a document lacks that a reply of an API must have; nothing if it lacks nothing."""

_LONGEST: Final = 200
_NOT_SHOWN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_CLIENT_ERRORS: Final = range(400, 500)
_PASSING: Final = frozenset({408, 409, 424, 425, 429})
"""Statuses among them that say "try again"."""
_REQUEST_CODES: Final = frozenset(
    {"invalid_request_error", "context_length_exceeded", "invalid_prompt", FILTERED}
)


class FailedResponseError(Exception):
    """The provider answered that it will not make a reply to this request."""


def what_is_broken(status: int, kind: str, body: bytes, find_fault: FindFault, mask: Mask) -> str:
    """Say what came in place of a reply: status, content type, and the server's own words.

    It is empty if the body is a reply, or says that the request itself is at fault.
    """
    told = body.decode(errors="replace")
    data: dict[str, Any] = {}
    medium = kind.partition(";")[0].strip().lower()
    if not told.strip():
        why = "the body is empty"
    elif medium and not medium.endswith("json"):
        why = "no JSON"
    else:
        try:
            read: object = json.loads(told)
        except (ValueError, RecursionError) as fault:
            why = f"no whole JSON ({fault})"
        else:
            found = as_object(read)
            data = found or {}
            why = "no JSON object" if found is None else _fault_of(data, find_fault)
    if not why:
        return ""
    lines = (line.strip() for line in told.splitlines())
    words = error_words(data) or next((line for line in lines if line), "")
    shown = _NOT_SHOWN.sub(" ", mask(words))
    quoted = f": {shown[:_LONGEST]}{'...' if len(shown) > _LONGEST else ''}" if shown else ""
    return f"the reply is broken: HTTP {status}, {kind or 'no content type'}: {why}{quoted}"


def _fault_of(data: Mapping[str, Any], find_fault: FindFault) -> str:
    error = error_of(data)
    if error is None:
        return find_fault(data)
    return "" if is_of_the_request(error) else "an error"


def error_of(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the error that stands in place of a reply, or in place of its first choice."""
    # The Responses API says of a response itself that it has failed.
    if data.get("status") == "failed":
        return None
    error: object = data.get("error")
    if not error:
        choices = data.get("choices")
        first = as_object(cast("list[object]", choices)[0]) if _is_filled(choices) else None
        error = (first or {}).get("error")
        ended = (first or {}).get("finish_reason") == "error"
        error = error or ({"message": "the reply ends with an error"} if ended else None)
    if not error:
        return None
    found = as_object(error)
    return {"message": str(error)} if found is None else found


def is_of_the_request(error: Mapping[str, Any]) -> bool:
    """Whether an error says that the same request will meet it again."""
    codes = (error.get("code"), error.get("type"), error.get("status"))
    if any(isinstance(code, str) and code in _REQUEST_CODES for code in codes):
        return True
    statuses = (int(str(code)) for code in codes if str(code).isdecimal())
    return any(one in _CLIENT_ERRORS and one not in _PASSING for one in statuses)


def error_words(data: Mapping[str, Any]) -> str:
    """Return the code and the message of an error, wherever a document has them."""
    error: Mapping[str, Any] = as_object(data.get("error")) or error_of(data) or data
    parts = (error.get("code"), error.get("message") or error.get("Message"))
    return ": ".join(str(one) for one in parts if one)


def filtered_by(error: Mapping[str, Any]) -> str | None:
    """Return which categories made a filter refuse a request; `None` if no filter has.

    It is the shape in which Azure says so: `innererror.content_filter_result` has each category
    with `filtered` and, if it has one, its `severity`.
    """
    if FILTERED not in (error.get("code"), error.get("type")):
        return None
    inner = as_object(error.get("innererror")) or {}
    return filtered_categories(inner.get("content_filter_result"))


def filtered_categories(results: object) -> str:
    """Return the categories for which a filter has struck, of the findings for each."""
    found = {name: as_object(one) or {} for name, one in (as_object(results) or {}).items()}
    named = [
        f"{name}: {one['severity']}" if one.get("severity") else str(name)
        for name, one in found.items()
        if one.get("filtered") is True
    ]
    return ", ".join(named)


def _is_filled(value: object) -> bool:
    return isinstance(value, list) and bool(cast("list[object]", value))


def counts_output(usage: object, name: str) -> bool:
    """Whether the provider has counted tokens that the model wrote."""
    count = (as_object(usage) or {}).get(name)
    return isinstance(count, int) and count > 0


# Take keys out of what an SDK raises: servers like to quote them.

Mask: TypeAlias = Callable[[str], str]
"""Returns a text without what is secret in it."""

MASK: Final = "***"
_SENT: Final = (
    re.compile(r"(?<=://)[^/\s@\"']+(?=@)"),
    re.compile(r"\bBearer\s+[^\s\"',]+"),
    re.compile(r"\bAWS4-HMAC-SHA256\b.*?Signature=[0-9a-f]+", re.DOTALL),
)
"""What a client sends to show who it is: in URLs, and in headers."""


@contextmanager
def scrubbed(secrets: Collection[str]) -> Generator[None, None, None]:
    """Let errors pass with every secret, password in a URL and header of authorization masked."""
    try:
        yield
    except Exception as error:
        _scrub(error, [secret for secret in secrets if secret])
        raise


def _scrub(error: BaseException, secrets: Collection[str]) -> None:
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.args = tuple(
            masked(part, secrets) if isinstance(part, str) else part for part in one.args
        )
        if isinstance(getattr(one, "message", None), str):
            # The SDKs keep their text a second time.
            one.message = masked(one.message, secrets)  # type: ignore[attr-defined]
        pending += [one.__cause__, one.__context__]


def masked(text: str, secrets: Collection[str]) -> str:
    """Return a text in which nothing stands that shows who a client is."""
    for secret in filter(None, secrets):
        text = text.replace(secret, MASK)
    for sent in _SENT:
        text = sent.sub(MASK, text)
    return text


# What of a model's calls goes back to its provider, which refuses a history with a bad one.
#
# The run keeps each call as the model wrote it. Only the history is made valid: the result of the
# call tells the model what was wrong with it.

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""How OpenAI and Bedrock want the name of a tool, and Bedrock the id of a call."""

_UNNAMED: Final = "unnamed"
_NOT_IN_A_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME: Final = 64


def valid_name(name: str) -> str:
    """Return a name that providers take, as like the model's own as can be."""
    return _NOT_IN_A_NAME.sub("_", name)[:_LONGEST_NAME] or _UNNAMED


def valid_ids(
    ids: Iterable[object], asked: ModelRequest, form: re.Pattern[str] | None = None
) -> list[str]:
    """Return an id for each call of a reply: its own, if it has the form and is the first.

    Ids are unique in the whole conversation, as Bedrock wants it. Made ones have nine letters and
    digits, which every provider takes, and are the same whenever the conversation is.
    """
    taken = {one.id for message in asked.messages for one in message.requests}
    found: list[str] = []
    for one in ids:
        key = one if isinstance(one, str) else ""
        fits = bool(key.strip()) and (form is None or form.fullmatch(key) is not None)
        found.append(key if fits and key not in taken else _made(taken))
        taken.add(found[-1])
    return found


def _made(taken: Collection[str]) -> str:
    number = len(taken)
    while f"call{number:05d}" in taken:
        number += 1
    return f"call{number:05d}"


def sent_arguments(written: object, read: object) -> str:
    """Return arguments as a text that holds a JSON object, the model's own if it does."""
    if isinstance(written, str) and written.strip() and as_object(read) is not None:
        return written
    return json.dumps(as_object(read) or {}, ensure_ascii=False)
