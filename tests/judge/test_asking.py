"""What a model refuses to take is left out; every other error is the provider's own."""

from __future__ import annotations

from typing import Any

import pytest
from model_judge import judgement_text, question, replied

from pytest_sopbench._core.fields.comparison import stands_in
from pytest_sopbench._core.hiding import masking
from pytest_sopbench._judge.asking import LONGEST, ModelAsker, read_reply, refused_part
from pytest_sopbench.agents import Message, ModelRequest, Reply, StopReason, ToolRequest
from pytest_sopbench.errors import NotJudgedError


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
    asker = ModelAsker(model.client(), model.client(with_temperature=False))

    asker.ask(question())
    asker.ask(question())

    assert [(True, True), (False, True), (False, False), (False, False)] == model.asked
    assert {"temperature", "schema"} == asker.left_out


def test_what_is_refused_although_it_was_left_out_is_an_error() -> None:
    model = Choosy(NO_TEMPERATURE, NO_TEMPERATURE)

    with pytest.raises(BadRequestError):
        ModelAsker(model.client(), model.client(with_temperature=False)).ask(question())

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


# Which replies are judgements; everything else is none, and never a pass.

ANSWER = "Dear Ms Ray,\nwe refund 120 \u20ac \u2013 \u201cin full\u201d."
GOOD = judgement_text(held=True, quote="we refund 120 \u20ac")


def test_a_whole_reply_is_a_judgement() -> None:
    judgement = read_reply(replied(GOOD), ANSWER)

    assert (True, "because", "we refund 120 \u20ac") == (
        judgement.held,
        judgement.reason,
        judgement.quote,
    )


def test_a_reason_and_a_quote_are_cut_once_the_whole_quote_was_found() -> None:
    answer = "We refund it. " * 10_000
    text = judgement_text(held=True, quote=answer, reason="so " * 1_000_000)

    judgement = read_reply(replied(text), answer)

    assert judgement.held
    assert judgement.reason.endswith("... (2,998,999 characters more)")
    assert judgement.quote.startswith("We refund it. We refund")
    assert max(len(judgement.reason), len(judgement.quote)) < LONGEST + 40
    with pytest.raises(NotJudgedError):
        read_reply(replied(text), answer[:-20])


def test_one_code_fence_around_it_is_allowed() -> None:
    assert read_reply(replied(f"```json\n{GOOD}\n```"), ANSWER).held


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "gave an empty reply", id="empty"),
        pytest.param(" \n", "gave an empty reply", id="blank"),
        pytest.param("Yes, it holds.", "gave no JSON object", id="prose"),
        pytest.param(f"Sure: {GOOD}", "gave no JSON object", id="prose-around"),
        pytest.param(GOOD + GOOD, "gave no JSON object", id="two-of-them"),
        pytest.param(GOOD[:-1], "gave no JSON object", id="torn"),
        pytest.param("[true]", "gave no JSON object", id="a-list"),
        pytest.param("true", "gave no JSON object", id="a-bare-word"),
        pytest.param("{" * 100_000, "gave no JSON object", id="bottomless"),
        pytest.param(
            '{"held": true, "held": false, "reason": "we", "quote": "we"}', "", id="twice"
        ),
        pytest.param('{"reason": "", "quote": "we"}', "neither true nor false", id="no-held"),
        pytest.param(
            '{"held": "true", "reason": "", "quote": "we"}', "neither true", id="held-as-text"
        ),
        pytest.param('{"held": 1, "reason": "", "quote": "we"}', "neither true", id="held-as-1"),
        pytest.param('{"held": true, "quote": "we"}', "gave no reason", id="no-reason"),
        pytest.param('{"held": true, "reason": "x"}', "gave no reason or no quote", id="no-quote"),
        pytest.param(
            '{"held": true, "reason": " ", "quote": "we"}', "gave no reason", id="empty-reason"
        ),
        pytest.param(
            '{"Held": false, "held": true, "reason": "x", "quote": "we"}',
            "said more than it was asked for: 'Held'",
            id="another-spelling",
        ),
        pytest.param(
            '{"held": true, "reason": "x", "quote": "we", "error": "overloaded"}',
            "said more than it was asked for: 'error'",
            id="an-error-beside",
        ),
        pytest.param(judgement_text(held=True, quote=""), "does not say: ''", id="empty-quote"),
        pytest.param(
            judgement_text(held=True, quote=" - "),
            "quotes what the answer does not say",
            id="quote-of-marks",
        ),
        pytest.param(
            judgement_text(held=True, quote="we refund 210 \u20ac"),
            "quotes what the answer does not say: 'we refund 210 \u20ac'",
            id="quote-of-something-else",
        ),
        pytest.param(
            judgement_text(held=False, quote="nothing of it"),
            "quotes what the answer does not say",
            id="no-as-well",
        ),
    ],
)
def test_a_reply_that_is_none_says_why(text: str, why: str) -> None:
    with pytest.raises(NotJudgedError, match=r"^the judge ") as raised:
        read_reply(replied(text), ANSWER)

    assert why in raised.value.message


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        pytest.param(replied(GOOD, StopReason.REFUSAL), "refused", id="refusal"),
        pytest.param(replied(GOOD, refusal="I will not."), "refused", id="refusal-beside"),
        pytest.param(replied(GOOD, StopReason.CONTENT_FILTER), "filter", id="filtered"),
        pytest.param(replied(GOOD, StopReason.LENGTH), "cut off", id="cut-off"),
        pytest.param(replied(GOOD, StopReason.TOOL_REQUESTS), "called a tool", id="tool"),
        pytest.param(
            Reply(
                message=Message(
                    role="assistant",
                    text=GOOD,
                    requests=(ToolRequest(name="judge", arguments={"held": True}),),
                ),
                stop=StopReason.END,
            ),
            "called a tool",
            id="tool-beside-a-text",
        ),
    ],
)
def test_a_reply_that_ended_otherwise_is_none_whatever_it_says(reply: Reply, why: str) -> None:
    with pytest.raises(NotJudgedError, match=why):
        read_reply(reply, ANSWER)


def test_what_it_said_instead_is_masked_before_it_is_cut() -> None:
    said = "I cannot say, since the key that I hold is: sk-1234567890, by the page."

    with masking(lambda text: text.replace("sk-1234567890", "***")):
        reply = replied(said)
        with pytest.raises(NotJudgedError) as raised:
            read_reply(reply, ANSWER)

    assert "hold is: ***, by the" in str(raised.value)


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        pytest.param("Dear Ms Ray, we refund", True, id="wrapped-anew"),
        pytest.param('120 \u20ac - "in full"', True, id="plain-marks"),
        pytest.param("re\u00adfund", True, id="soft-hyphen"),
        pytest.param("WE REFUND", False, id="other-case"),
        pytest.param("we refund 120 EUR", False, id="other-word"),
        pytest.param('full" we', False, id="not-one-passage"),
    ],
)
def test_a_quote_is_a_passage_but_for_what_changes_no_word(quote: str, stands: bool) -> None:
    assert stands_in(quote, ANSWER) is stands


def test_a_superscript_in_a_quote_is_no_plain_digit() -> None:
    assert not stands_in("12 m2", "12 m\u00b2")


def test_an_answer_of_marks_alone_can_be_quoted() -> None:
    assert stands_in("---", "---")
