"""Put a question to a model, without what the model refuses to take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from pytest_sopbench._core.values.foreign import get_member
from pytest_sopbench.agents.conversation import ModelClient, Reply

from .prompt import request_of
from .question import Question

TEMPERATURE: Final = "temperature"
SCHEMA: Final = "schema"

_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    TEMPERATURE: ("temperature",),
    SCHEMA: ("response_format", "text.format", "json_schema", "guided_json", "grammar"),
}
_BAD_REQUESTS: Final = frozenset({400, 422})


class Asker(Protocol):
    """Puts one question to the model; `left_out` is what the model refused to take."""

    left_out: frozenset[str]

    def ask(self, question: Question) -> Reply: ...


class MakesClient(Protocol):
    """Makes the client of a model, with or without a temperature."""

    def client(self, *, with_temperature: bool = True) -> ModelClient: ...


class ModelAsker:
    """Asks with temperature 0 and a schema of the reply, and leaves out what the model refuses.

    Some models take no temperature, and some servers no schema. The first request of either says
    so, and costs nothing; from then on the request goes without. Both are aids alone: what counts
    is whether the reply keeps to the form and its quote stands in the answer.

    Raises:
        JudgeError: the client cannot be made.
    """

    def __init__(self, setting: MakesClient) -> None:
        self._clients = {
            False: setting.client(),
            True: setting.client(with_temperature=False),
        }
        self.left_out: frozenset[str] = frozenset()

    def ask(self, question: Question) -> Reply:
        while True:
            without = self.left_out
            client = self._clients[TEMPERATURE in without]
            try:
                return client.complete(request_of(question, structured=SCHEMA not in without))
            except Exception as error:
                refused = refused_part(error)
                # What was left out already is not what it complains of.
                if not refused or refused in without:
                    raise
                self.left_out |= {refused}


def refused_part(error: Exception) -> str:
    """Return which part of a request a provider refuses to take, or nothing."""
    response = get_member(error, "response")
    status = get_member(error, "status_code") or get_member(response, "status_code")
    code = get_member(get_member(response, "Error"), "Code")
    if status not in _BAD_REQUESTS and code != "ValidationException":
        return ""
    # What it names as the parameter counts more than what it may quote of the conversation.
    named = str(get_member(error, "param") or "").lower()
    told = named or str(error).lower()
    return next((part for part, words in _WORDS.items() if any(one in told for one in words)), "")
