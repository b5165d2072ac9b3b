from __future__ import annotations

import pytest

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.domain.rows import acceptable_answers, disagreement_reason, tags_of
from pytest_sopbench._loading.files.cells import CellError

ONE: dict[str, JsonValue] = {"route": "north"}
TWO: dict[str, JsonValue] = {"route": "north", "priority": "low"}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        pytest.param(None, (), id="nothing"),
        pytest.param("", (), id="empty"),
        pytest.param("new, rare ,new,", ("new", "rare"), id="with-commas"),
        pytest.param('["new", "rare"]', ("new", "rare"), id="json-list"),
        pytest.param("['new', 3]", ("new", "3"), id="python-list"),
        pytest.param("[odd, rare]", ("[odd", "rare]"), id="brackets-that-are-no-list"),
        pytest.param(["new", " rare "], ("new", "rare"), id="a-list-already"),
        pytest.param(7, (), id="a-number"),
    ],
)
def test_tags_are_names_once_each_in_order(cell: JsonValue, expected: tuple[str, ...]) -> None:
    assert expected == tags_of(cell)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        pytest.param(None, "", id="nothing"),
        pytest.param(False, "", id="false"),
        pytest.param("False", "", id="false-as-text"),
        pytest.param(" ", "", id="blank"),
        pytest.param("True", "no reason given", id="true-as-text"),
        pytest.param(True, "no reason given", id="true"),
        pytest.param(" clause 4 says B ", "clause 4 says B", id="a-reason"),
    ],
)
def test_a_known_disagreement_has_a_reason(cell: JsonValue, expected: str) -> None:
    assert expected == disagreement_reason(cell)


@pytest.mark.parametrize(
    ("cell", "answer", "expected"),
    [
        pytest.param("", ONE, (), id="empty"),
        pytest.param(None, ONE, (), id="nothing"),
        pytest.param('["south"]', ONE, ({"route": "south"},), id="a-value"),
        pytest.param(["south", None], ONE, ({"route": "south"}, {"route": None}), id="values"),
        pytest.param(
            '[{"route": "south"}]', TWO, ({"route": "south", "priority": "low"},), id="an-object"
        ),
        pytest.param("[]", ONE, (), id="an-empty-list"),
    ],
)
def test_acceptable_answers_have_every_field(
    cell: JsonValue, answer: dict[str, JsonValue], expected: tuple[dict[str, JsonValue], ...]
) -> None:
    assert expected == acceptable_answers(cell, answer)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        pytest.param("south", "'south' is neither a list nor an object", id="bare-text"),
        pytest.param(
            '{"route": "south"}',
            "acceptable answers are a JSON list, of values or of objects",
            id="an-object-alone",
        ),
        pytest.param(
            '["south"]',
            "'south' names no field; with several output fields write objects",
            id="a-value-for-two-fields",
        ),
        pytest.param(
            '[{"rout": 1}]', "'rout' is no output field; they are route, priority", id="a-stranger"
        ),
    ],
)
def test_acceptable_answers_that_mean_nothing_say_why(cell: JsonValue, expected: str) -> None:
    with pytest.raises(CellError) as caught:
        acceptable_answers(cell, TWO)

    assert expected == str(caught.value)
