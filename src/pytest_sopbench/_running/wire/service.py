"""An agent behind a URL: `--agent http://...`, or `--agent http:FILE.toml` for a service as it is.

A service that knows our request is named by its URL alone. One that exists already is described by
a file: where it is, what is sent, and where in its answer the output stands. The file has templates
and JSON pointers, and nothing in it is run.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any, Final, cast
from urllib.parse import urljoin, urlsplit

from pytest_sopbench._core.model.trace import UNSEEN
from pytest_sopbench._core.protocols import AgentContext
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._running.tools.toolbox import Tools
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import AgentSpecError

from .http_client import Outgoing, RedirectError, Reply, TooLargeError, send
from .request import (
    AgentAwayError,
    AgentElsewhere,
    Asked,
    ServiceError,
    at,
    json_in,
    read_answer,
)
from .server import INSTALL, Address, ToolServer

HTTP: Final = ("http:", "https:")
KEYS: Final = (
    *("url", "method", "headers", "body", "output", "usage", "session", "auth"),
    *("redirects", "ca_file"),
)

_AWAY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_ENV: Final = "env:"
_PLACE: Final = re.compile(r"\{\{ *(.*?) *\}\}")
_METHODS: Final = ("POST", "PUT", "PATCH", "GET")
_PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
_TAG: Final = 20
_SHOWN: Final = 300
_POLLS_FIRST: Final = 0.25
_POLLS_AT_MOST: Final = 5.0
_ACCEPTED: Final = 202
_WELL: Final = range(200, 300)
_PARTIAL: Final = 206
_EXAMPLE: Final = 'url = "https://host/path"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """How a service is asked. `body` is `None` for our own request; `output` is a JSON pointer."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: JsonValue = None
    output: str = ""
    usage: str = ""
    session: str = ""
    auth: str = ""
    redirects: int = 0
    ca_file: Path | None = None

    @property
    def tells_tools(self) -> bool:
        """Whether the request says where the tools of the run are."""
        return self.body is None or "{{ tools" in re.sub(r"\{\{ *", "{{ ", json.dumps(self.body))


class ServiceAgent(AgentElsewhere):
    """Asks a service for each run."""

    def __init__(self, service: Service, context: AgentContext) -> None:
        self._service = service
        self._tls = _tls(service)
        address = Address(*context.options.tool_address)
        # Imported before runs are in flight, and complained of before the first.
        super().__init__(context, shared_server(address) if service.tells_tools else None)
        _need_h11()

    async def _answer(self, asking: Asked, tools: Tools, approver: Callable[..., Any]) -> object:
        del approver
        if asking.door is None:
            tools.report(notes=UNSEEN)
        return self._output(await self._replied(asking), tools)

    async def _replied(self, asking: Asked) -> Reply:
        """Ask, and poll until there is an answer; a run that ends takes back what it asked for."""
        request = self._request(asking)
        reply = _checked(await _sent(request))
        if reply.status != _ACCEPTED:
            return reply
        place = reply.headers.get("location", "")
        if not place:
            msg = "the agent answered 202 without a Location, so there is nothing to wait for"
            raise ServiceError(msg)
        return await self._polled(request, urljoin(request.url, place))

    async def _polled(self, request: Outgoing, url: str) -> Reply:
        if urlsplit(url)[:2] != urlsplit(request.url)[:2]:
            msg = f"the agent answered 202 with a Location on another host: {url}"
            raise ServiceError(msg)
        headers = [one for one in request.headers if one[0].lower() != "content-type"]
        poll = replace(request, method="GET", url=url, body=b"", headers=headers)
        pause = _POLLS_FIRST
        try:
            while True:
                await asyncio.sleep(pause)
                reply = _checked(await _sent(poll))
                if reply.status != _ACCEPTED:
                    return reply
                pause = min(pause * 2, _POLLS_AT_MOST)
        except asyncio.CancelledError:
            # The run is over its limit: the service need not go on. Nobody waits for its word, and
            # the session may be over as well: its loop ends, and Python waits for this thread.
            taking_back = partial(_take_back, replace(poll, method="DELETE"))
            Thread(target=taking_back, name="sopbench-take-back").start()
            raise

    def _request(self, asking: Asked) -> Outgoing:
        service = self._service
        named = {
            "Accept": "application/json, text/plain",
            "Content-Type": "application/json",
            "Idempotency-Key": asking.idempotency_key,
            "traceparent": asking.traceparent,
        }
        told = {name: _filled_text(text, asking) for name, text in service.headers.items()}
        if service.auth:
            told["Authorization"] = _late(service.auth)
        if service.session:
            told[service.session] = asking.run
        own = {name.lower() for name in told}
        headers = [(name, text) for name, text in named.items() if name.lower() not in own]
        body = asking.text if service.body is None else json.dumps(_filled(service.body, asking))
        return Outgoing(
            method=service.method,
            url=_filled_text(service.url, asking),
            headers=[*headers, *told.items()],
            body=b"" if service.method == "GET" else body.encode(),
            redirects=service.redirects,
            tls=self._tls,
        )

    def _output(self, reply: Reply, tools: Tools) -> object:
        text, service = reply.text, self._service
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not text.strip():
            raise _unavailable(reply, f"{reply.status} with nothing")
        if kind in _PAGES or text.lstrip()[:_TAG].lower().startswith(("<!doctype html", "<html")):
            # A proxy or a framework writes them, and words of an answer may stand in one.
            raise _unavailable(reply, f"with a page of HTML: {_start(text)}")
        is_json = kind.rpartition("/")[2].rpartition("+")[2] == "json"
        value = json_in(text)
        if is_json and not _is_utf8(reply.body):
            raise _unavailable(reply, f"with JSON that is not UTF-8: {_start(text)}")
        if value is None and is_json and text.strip() != "null":
            raise _unavailable(reply, f"with broken JSON: {_start(text)}")
        if service.usage:
            tools.report(usage=at(value, service.usage))
        return at(value, service.output) if service.output else read_answer(text, tools)


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _checked(reply: Reply) -> Reply:
    if reply.status == _PARTIAL:
        raise _unavailable(reply, f"{_PARTIAL} with a part of what it has to say")
    if reply.status in _WELL:
        return reply
    what = f"{reply.status}: {_start(reply.text) or 'no words'}"
    if reply.status in _AWAY:
        raise _unavailable(reply, what)
    msg = f"the agent answered {what}"
    raise ServiceError(msg)


async def _sent(request: Outgoing) -> Reply:
    try:
        return await send(request)
    except (TooLargeError, RedirectError) as fault:
        raise ServiceError(str(fault)) from None


def _unavailable(reply: Reply, what: str) -> AgentAwayError:
    error = AgentAwayError(f"the agent answered {what}")
    # `Retry-After` is looked for there.
    error.response = reply  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue] - as clients of providers have it
    return error


def _start(text: str) -> str:
    line = " ".join(text[: 2 * _SHOWN].split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


_TAKING_BACK: Final = 2.0
"""Seconds that a service has to be told that a run is over."""


def _take_back(request: Outgoing) -> None:
    # The run is over, and this is a courtesy.
    with suppress(Exception):
        asyncio.run(asyncio.wait_for(send(request), _TAKING_BACK))


# One server for all agents of a process that listen at the same place.

_SERVERS: Final[dict[Address, ToolServer]] = {}


def shared_server(address: Address) -> ToolServer:
    """Return the server of tools of this process, started when it is first needed."""
    if address not in _SERVERS:
        _SERVERS[address] = ToolServer(address)
    return _SERVERS[address]


# Templates.


def _filled(value: JsonValue, asking: Asked) -> JsonValue:
    """Fill the places of a template. A text that is one place becomes the value itself."""
    if isinstance(value, str):
        whole = _PLACE.fullmatch(value.strip())
        return _place(whole[1], asking) if whole else _filled_text(value, asking)
    if isinstance(value, dict):
        return {key: _filled(one, asking) for key, one in value.items()}
    return [_filled(one, asking) for one in value] if isinstance(value, list) else value


def _filled_text(text: str, asking: Asked) -> str:
    def filled(found: re.Match[str]) -> str:
        value = _place(found[1], asking)
        return value if isinstance(value, str) else json.dumps(value)

    return _PLACE.sub(filled, _late(text))


def _place(name: str, asking: Asked) -> JsonValue:
    value: JsonValue = asking.body
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            msg = f"{{{{{name}}}}}: a run has no such value"
            raise AgentSpecError(msg, hint=f"there are {', '.join(asking.body)}")
        value = value[part]
    return value


def _late(text: str) -> str:
    """Return a text, or what a variable of the environment holds: it is read for each request.

    Variables are often set from a file: white space around them, such as its line end, is none of a
    secret's.
    """
    if not text.startswith(_ENV):
        return text
    name = text.removeprefix(_ENV)
    if name not in os.environ:
        msg = f"env:{name}: the environment has no such variable"
        raise AgentSpecError(msg, hint=f"set {name}")
    return os.environ[name].strip()


# The spec, and its file.


def resolve_service(spec: str, context: AgentContext) -> ServiceAgent:
    """Return the agent of `http://...`, `https://...`, or `http:FILE.toml`."""
    rest = spec.partition(":")[2]
    if rest.startswith("//"):
        return ServiceAgent(Service(url=_url(spec, f"agent {spec!r}")), context)
    path = context.path / from_home(rest)
    return ServiceAgent(_read(path), context)


def _url(text: str, where: str) -> str:
    parts = urlsplit(text)
    try:
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        named = False
    if parts.scheme not in {"http", "https"} or not named:
        msg = f"{where}: {text!r} is no URL"
        raise AgentSpecError(msg, hint="write http://HOST:PORT/PATH or https://HOST/PATH")
    if parts.username is not None:
        msg = f"{where}: a URL with a password would be written into reports"
        raise AgentSpecError(msg, hint='write auth = "env:NAME" in a file: --agent http:FILE.toml')
    return text


def _read(path: Path) -> Service:
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except OSError as fault:
        msg = f"agent http:{path.name}: {path}: {fault.strerror}"
        raise AgentSpecError(msg, hint="it is a URL, or a file of TOML that has one") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        msg = f"{path}: {fault}"
        raise AgentSpecError(msg, hint=f"write {_EXAMPLE}") from None
    for key in data:
        if key not in KEYS:
            _refuse(path, key, "unknown key", f"it may be {', '.join(KEYS)}")
    ca_file = _text(path, data, "ca_file", "")
    return Service(
        url=_url(_text(path, data, "url"), f"{path}, url"),
        method=_one_of(path, data, "method", _METHODS),
        headers=_headers(path, data),
        body=cast("JsonValue", data.get("body")),
        output=_pointer(path, data, "output"),
        usage=_pointer(path, data, "usage"),
        session=_text(path, data, "session", ""),
        auth=_text(path, data, "auth", ""),
        redirects=_count(path, data, "redirects"),
        ca_file=path.parent / from_home(ca_file) if ca_file else None,
    )


def _refuse(path: Path, key: str, problem: str, hint: str) -> None:
    msg = f"{path}, {key}: {problem}"
    raise AgentSpecError(msg, hint=hint)


def _text(path: Path, data: Mapping[str, object], key: str, default: str | None = None) -> str:
    value = data.get(key, default)
    if not isinstance(value, str) or (default is None and not value):
        _refuse(path, key, "a text is expected", f"write {_EXAMPLE}")
    return cast("str", value)


def _one_of(path: Path, data: Mapping[str, object], key: str, words: Sequence[str]) -> str:
    value = _text(path, data, key, words[0]).upper()
    if value not in words:
        _refuse(path, key, f"{value} is none of {', '.join(words)}", "leave it out for POST")
    return value


def _headers(path: Path, data: Mapping[str, object]) -> Mapping[str, str]:
    value = data.get("headers", {})
    if not isinstance(value, dict) or not all(
        isinstance(one, str) for one in cast("dict[str, object]", value).values()
    ):
        _refuse(path, "headers", "a table of texts is expected", 'headers = {X-Team = "desk"}')
    return cast("dict[str, str]", value)


def _pointer(path: Path, data: Mapping[str, object], key: str) -> str:
    value = _text(path, data, key, "")
    if value and not value.startswith("/"):
        _refuse(path, key, f"{value!r} is no JSON pointer", "write /choices/0/message/content")
    return value


def _count(path: Path, data: Mapping[str, object], key: str) -> int:
    value = data.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 10:  # noqa: PLR2004
        _refuse(path, key, "a whole number from 0 to 10 is expected", "0 follows none")
    return cast("int", value)


def _tls(service: Service) -> ssl.SSLContext | None:
    if service.ca_file is None:
        return None
    try:
        return ssl.create_default_context(cafile=service.ca_file)
    except (OSError, ssl.SSLError) as fault:
        msg = f"{service.ca_file}: {fault}"
        raise AgentSpecError(msg, hint="name a file of certificates (PEM)") from None


def _need_h11() -> None:
    if find_spec("h11") is None:
        msg = "agents behind a URL need h11, which is not installed"
        raise AgentSpecError(msg, hint=INSTALL)
