"""What an agent elsewhere is asked for one run, and what its answer is read as.

The request is one JSON object, whichever way it travels: `docs/how-to/connect-an-agent.md`
has its keys.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, cast

from pytest_sopbench._core.protocols import AgentContext
from pytest_sopbench._core.values.json import STRICT, JsonValue
from pytest_sopbench._running.tools.toolbox import Tools, trial_of
from pytest_sopbench.errors import Unavailable

from .server import Door, ToolServer, unless_over

PROTOCOL: Final = 1
REPORTED: Final = ("usage", "model", "notes")
"""What an answer may tell of its run beside its output."""
FAILURE: Final = ("success", "error")
"""What an answer may say beside its output of having failed."""

_PROCESS: Final = secrets.token_hex(8)
"""Makes runs of one session differ from those of another."""


_MODEL_URLS: ContextVar[Callable[[], Mapping[str, str]] | None] = ContextVar(
    "sop_model_urls", default=None
)


@contextmanager
def model_urls_told(urls: Callable[[], Mapping[str, str]]) -> Generator[None]:
    """Have an agent elsewhere that makes a run in this context told where it reaches its model."""
    token = _MODEL_URLS.set(urls)
    try:
        yield
    finally:
        _MODEL_URLS.reset(token)


class ServiceError(Exception):
    """An agent elsewhere answered, and its answer is a failure of its own."""


class AgentAwayError(Unavailable):
    """An agent elsewhere gave no answer, and may give one if it is asked again."""


class AgentDiedError(Exception):
    """The process of an agent elsewhere is gone, and with it the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One attempt at a run as an agent elsewhere is asked for it; `door` leads to its tools."""

    run: str
    idempotency_key: str
    body: dict[str, JsonValue]
    door: Door | None

    @property
    def text(self) -> str:
        return json.dumps(self.body)

    @property
    def traceparent(self) -> str:
        """The W3C trace context: one trace for each attempt at a run."""
        trace = hashlib.sha256(self.run.encode()).hexdigest()
        return f"00-{trace[:32]}-{trace[32:48]}-01"


class AgentElsewhere(ABC):
    """Is asked for each run; an async agent, so that it ends with its run.

    Args:
        context: of the session.
        server: where it calls the tools of its run; `None` if it calls them in another way.
    """

    def __init__(self, context: AgentContext, server: ToolServer | None) -> None:
        self._timeout = context.options.timeout
        self._server = server

    async def __call__(  # noqa: PLR0913, PLR0917 - what a run fills
        self,
        sop: str,
        inputs: JsonValue,
        tools: Tools,
        task_id: str,
        domain: str,
        output_fields: JsonValue,
        output_schema: JsonValue,
        approver: Callable[..., Any],
    ) -> object:
        run, trial = secrets.token_hex(8), trial_of(tools)
        name = json.dumps([_PROCESS, domain, task_id, trial])
        given: dict[str, JsonValue] = {"specs": list[JsonValue](tools.json_schema())}
        door = None if self._server is None else self._server.open(tools)
        if door is not None:
            given |= {"mcp": {"url": door.mcp}, "http": {"url": door.call}}
        try:
            urls = _MODEL_URLS.get()
            body: dict[str, JsonValue] = {
                "protocol": PROTOCOL,
                "run": {"id": run, "domain": domain, "task": task_id, "trial": trial},
                "sop": sop,
                "inputs": inputs,
                "output_fields": output_fields,
                "tools": given,
                "model_urls": {} if urls is None else dict(urls()),
                "deadline_s": self._timeout,
            }
            if output_schema is not None:
                body["output_schema"] = output_schema
            key = hashlib.sha256(name.encode()).hexdigest()[:32]
            asking = Asked(run=run, idempotency_key=key, body=body, door=door)
            return await unless_over(door, self._answer(asking, tools, approver))
        finally:
            if self._server is not None and door is not None:
                self._server.close(door)

    @abstractmethod
    async def _answer(self, asking: Asked, tools: Tools, approver: Callable[..., Any]) -> object:
        """Return what comes back for one attempt at a run."""


def read_answer(text: str, tools: Tools) -> object:
    """Return the output of an answer, and report what stands beside it.

    An object with the key `output` is one of our protocol. Any other text is the answer itself, as
    a function of Python would return it.
    """
    found = json_in(text)
    if isinstance(found, dict) and "output" in found:
        return output_of(found, tools)
    return text if found is None else found


def output_of(answer: Mapping[str, JsonValue], tools: Tools) -> JsonValue:
    """Return the output of an answer of our protocol, and report what stands beside it.

    What is said of a failure stays beside the output, as in what a function of Python returns: an
    agent that says that it failed is not judged by what it gives all the same.
    """
    told = {key: answer[key] for key in REPORTED if answer.get(key) is not None}
    if told:
        tools.report(**told)
    failure = {key: answer[key] for key in FAILURE if answer.get(key) is not None}
    return {"output": answer["output"], **failure} if failure else answer["output"]


def json_in(text: str) -> JsonValue:
    """Return the JSON value that a text is; `None` if it is none."""
    try:
        return cast("JsonValue", STRICT.decode(text))
    except (ValueError, RecursionError):
        return None


def at(value: JsonValue, pointer: str) -> JsonValue:
    """Return what a JSON pointer (RFC 6901) leads to.

    Raises:
        ServiceError: it leads nowhere.
    """
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            msg = f"the answer has nothing at {pointer}"
            raise ServiceError(msg)
    return value
