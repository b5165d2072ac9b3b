"""The judge through each of the model clients: the same question, in each provider's words."""

from __future__ import annotations

from typing import Any

from pytest_sopbench._judge.asking import REPLY_SCHEMA, ModelAsker, Question, read_reply
from pytest_sopbench._judge.judge import read_setting

QUESTION = Question(rubric="It says so.", field="letter", expected="Paid", actual="It is paid.")


def schema_of(body: dict[str, Any]) -> object:
    """Return the schema that the reply is asked to follow, `None` where there is none."""
    if "response_format" in body:
        return body["response_format"]["json_schema"]["schema"]
    return body["text"]["format"]["schema"] if "text" in body else None


def temperature_of(body: dict[str, Any]) -> object:
    return body.get("inferenceConfig", body)["temperature"]


def test_each_of_them_is_asked_at_temperature_0_and_judges(stub: Any, model: str) -> None:
    setting = read_setting([model])
    assert setting is not None

    reply = ModelAsker(setting.client(), setting.client(with_temperature=False)).ask(QUESTION)

    (request,) = stub.requests
    known = None if model.startswith("bedrock") else REPLY_SCHEMA
    assert read_reply(reply, QUESTION.actual).held
    assert known == schema_of(request.body)
    assert 0 == temperature_of(request.body)
    assert "tools" not in request.body
    assert (100, 20, model) == (
        reply.usage.input_tokens,
        reply.usage.output_tokens,
        reply.usage.model,
    )
