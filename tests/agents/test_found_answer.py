"""A model is asked again exactly where its text holds no answer."""

from __future__ import annotations

import pytest

from pytest_sopbench.agents.dialogue import has_answer

ONE = {"hazard_class": ["Hazard Class A", "Unable to Decide"]}
TWO = {"shelf": "integer", "note": "text"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('<final_output>{"hazard_class": "Hazard Class A"}</final_output>', id="json"),
        pytest.param('{"Hazard Class": null, "x": {"y": 1}}', id="other-spelling"),
        pytest.param("<hazard_class> Hazard Class A</hazard_class>", id="tag"),
        pytest.param("&lt;hazard_class&gt;A&lt;/hazard_class&gt;", id="escaped"),
        pytest.param("<final_decision>Hazard Class A</final_decision>", id="decision"),
        pytest.param("so\n**Hazard class:** hazard class a.", id="line"),
        pytest.param("<final_output>{'hazard_class': 'A'}</final_output>", id="python"),
        pytest.param("Final Answer: Unable to Decide", id="final-answer"),
        pytest.param(" Unable to decide. ", id="nothing-else"),
    ],
)
def test_an_answer_in_one_field_is_found(text: str) -> None:
    assert has_answer(text, ONE)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("I will look at the hazard class next.", id="a-thought"),
        pytest.param("Hazard class: not known yet", id="no-label"),
        pytest.param("It is Hazard Class A, I think.", id="a-mention"),
        pytest.param('<think>{"hazard_class": "Hazard Class A"}</think> wait', id="reasoning"),
        pytest.param('{"hazard_class": ', id="cut-off"),
        pytest.param('<final_output>{"hazard_class": "Hazard', id="cut-off-in-its-mark"),
        pytest.param('<final_output>{"hazard_class": "A"</final_output>', id="no-object"),
        pytest.param("<hazard_class></hazard_class>", id="empty-tag"),
        pytest.param('{"score": 3}', id="other-json"),
    ],
)
def test_no_answer_is_found_in(text: str) -> None:
    assert not has_answer(text, ONE)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param('{"shelf": 3, "note": "x"}', True, id="both"),
        pytest.param('{"shelf": 3}', False, id="one-of-two"),
        pytest.param("<shelf>3</shelf><note>x</note>", True, id="tags"),
        pytest.param("shelf: 3\nnote: x", True, id="lines"),
        pytest.param("Final answer: 3", False, id="not-said-which"),
    ],
)
def test_of_several_fields_each_is_needed(text: str, found: bool) -> None:
    assert found == has_answer(text, TWO)
