"""What a model refuses to take is left out; every other error is the provider's own."""

from __future__ import annotations

from typing import Any

import pytest
from model_judge import judgement_text, question, replied

from pytest_sopbench._judge.asking import ModelAsker, refused_part
from pytest_sopbench.agents import ModelRequest, Reply


class BadRequestError(Exception):
    """As that of OpenAI's client."""

    def __init__(self, message: str, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.status_code, self.param = status, param


class ValidationError(Exception):
    """As that of botocore."""

    response: Any = {"Error": {"Code": "ValidationException"}}  # noqa: RUF012 - of one test


class Choosy:
    """A model that refuses a temperature, a schema, or both; as a setting it makes the client."""

    def __init__(self, *refuses: Exception) -> None:
        self.refuses = [*refuses]
        self.asked: list[tuple[bool, bool]] = []

    def client(self, *, with_temperature: bool = True) -> Any:
        return _Client(self, with_temperature)


class _Client:
    def __init__(self, choosy: Choosy, with_temperature: bool) -> None:
        self._choosy, self._with_temperature = choosy, with_temperature

    def complete(self, request: ModelRequest) -> Reply:
        self._choosy.asked.append((self._with_temperature, request.reply_schema is not None))
        if self._choosy.refuses:
            raise self._choosy.refuses.pop(0)
        return replied(judgement_text(held=True, quote="We refund it."))


NO_TEMPERATURE = BadRequestError("Unsupported value", "temperature")
NO_SCHEMA = BadRequestError("unknown field response_format")


def test_what_was_refused_once_is_left_out_from_then_on() -> None:
    model = Choosy(NO_TEMPERATURE, NO_SCHEMA)
    asker = ModelAsker(model)

    asker.ask(question())
    asker.ask(question())

    assert [(True, True), (False, True), (False, False), (False, False)] == model.asked
    assert {"temperature", "schema"} == asker.left_out


def test_what_is_refused_although_it_was_left_out_is_an_error() -> None:
    model = Choosy(NO_TEMPERATURE, NO_TEMPERATURE)

    with pytest.raises(BadRequestError):
        ModelAsker(model).ask(question())

    assert 2 == len(model.asked)


@pytest.mark.parametrize(
    ("error", "part"),
    [
        pytest.param(NO_TEMPERATURE, "temperature", id="by-its-parameter"),
        pytest.param(NO_SCHEMA, "schema", id="by-its-words"),
        pytest.param(BadRequestError("x", "text.format.schema", 422), "schema", id="responses"),
        pytest.param(
            ValidationError("temperature is not supported by this model"), "temperature", id="aws"
        ),
        pytest.param(
            BadRequestError("'temperature' in the text", "messages"), "", id="quoted-from-a-text"
        ),
        pytest.param(BadRequestError("no temperature", status=429), "", id="rate-limit"),
        pytest.param(RuntimeError("temperature"), "", id="no-bad-request"),
        pytest.param(BadRequestError("context length exceeded"), "", id="another-complaint"),
    ],
)
def test_only_a_bad_request_that_names_a_part_refuses_it(error: Exception, part: str) -> None:
    assert part == refused_part(error)
