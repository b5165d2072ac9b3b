"""`steps.json`: the steps of an SOP as a domain says them itself, and what is refused of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.steps.split import Moment
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError

SOP = """# Parcels

## 1. Words
A parcel is a box.

## 2. Weigh it
Use the scale.

## 3. Send it
[APPROVAL REQUIRED]
"""


@pytest.fixture
def folder(make_domain: Any) -> Any:
    def make(steps: Any) -> Path:
        text = steps if isinstance(steps, str) else json.dumps(steps)
        made: Path = make_domain({"sop.txt": None, "sop.md": SOP, "steps.json": text})
        return made

    return make


def test_a_number_is_enough_where_the_sop_has_a_section_of_it(folder: Any) -> None:
    domain = load_domain(folder({"steps": [{"number": 2}, {"number": "3"}]}))

    first, second = domain.procedure.steps
    assert ("2", "Weigh it", "## 2. Weigh it\nUse the scale.", 6) == (
        first.number,
        first.title,
        first.text,
        first.line,
    )
    assert (Moment.AFTER,) == second.approvals
    assert "steps.json" == domain.procedure.source
    assert ["# Parcels", "## 1. Words", "A parcel is a box."] == [
        line for line in domain.procedure.general.split("\n") if line
    ]
    assert () == domain.warnings


def test_a_step_may_have_a_title_a_text_and_approvals_of_its_own(folder: Any) -> None:
    step = {"number": "a", "title": "Weigh", "text": "Use  the scale.", "approval": "before"}
    other = {"number": "b", "text": "[APPROVAL REQUIRED]", "approval": "none"}
    domain = load_domain(folder({"steps": [step, other], "general": "Be careful."}))

    first, second = domain.procedure.steps
    assert ("Weigh", "Use  the scale.", (Moment.BEFORE,)) == (
        first.title,
        first.text,
        first.approvals,
    )
    assert ("[APPROVAL REQUIRED]", ()) == (second.title, second.approvals)
    assert "Be careful." == domain.procedure.general
    (warning,) = domain.warnings
    assert "5 lines of the SOP stand neither in a step nor in 'general': '# Parcels'" in warning


def test_text_that_the_sop_does_not_have_is_a_warning(folder: Any) -> None:
    domain = load_domain(folder({"steps": [{"number": "2"}, {"number": "4", "text": "Sell it."}]}))

    assert ("steps.json: step 4: its text is no part of the SOP",) == domain.warnings
    assert "## 3. Send it" in domain.procedure.general


def test_without_the_file_the_sop_shows_its_steps(make_domain: Any) -> None:
    domain = load_domain(make_domain())

    assert None is domain.own_steps
    assert ["1", "2"] == [step.number for step in domain.procedure.steps]


def test_the_file_counts_as_a_part_of_the_sop(folder: Any, make_domain: Any) -> None:
    with_file = load_domain(folder({"steps": [{"number": "2"}]}))
    without = load_domain(make_domain({"sop.txt": SOP}, folder="other"))

    assert with_file.hashes["sop"] != without.hashes["sop"]
    assert with_file.hashes["data"] == without.hashes["data"]


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        pytest.param('{"steps": [', "steps.json, row 1: not JSON", id="no-json"),
        pytest.param([], "steps.json: must be an object with the keys steps, general", id="list"),
        pytest.param({"steps": []}, "column 'steps': must be a list of steps\nwrite", id="none"),
        pytest.param(
            {"steps": [{"number": "2"}], "step": 1},
            "key 'step' is unknown\ndid you mean 'steps'?",
            id="unknown-key",
        ),
        pytest.param(
            {"steps": [{"number": "2", "heading": "x"}]},
            "key 'steps[0].heading' is unknown\nits keys are number, title",
            id="unknown-key-of-a-step",
        ),
        pytest.param(
            {"steps": [{"number": "2"}, {"number": 2}]},
            "column 'steps[1].number': step '2' stands twice\ngive every step",
            id="a-number-twice",
        ),
        pytest.param(
            {"steps": [{"title": "x", "text": "y"}]},
            "column 'steps[0].number': None cannot be the number of a step\nwrite a text",
            id="no-number",
        ),
        pytest.param(
            {"steps": [{"number": "Answer", "text": "y"}]},
            "'Answer' cannot be the number of a step\n",
            id="the-word-of-the-end",
        ),
        pytest.param(
            {"steps": [{"number": "9"}]},
            "column 'steps[0]': step '9' has no text, and the SOP no section of that number\n"
            "give its text, or one of the SOP's numbers: 1, 2, 3",
            id="no-section",
        ),
        pytest.param(
            {"steps": [{"number": "2", "text": " "}]},
            "column 'steps[0].text': must be a text, and is ' '",
            id="blank-text",
        ),
        pytest.param(
            {"steps": [{"number": "2", "title": 3}]},
            "column 'steps[0].title': must be a text, and is 3",
            id="title-no-text",
        ),
        pytest.param(
            {"steps": [{"number": "2", "approval": ["later"]}]},
            "column 'steps[0].approval': 'later' is no word for an approval\nwrite one of before,",
            id="approval",
        ),
        pytest.param(
            {"steps": [{"number": "2"}], "general": 1},
            "column 'general': must be a text, and is 1",
            id="general",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(folder: Any, steps: Any, told: str) -> None:
    path = folder(steps)

    with pytest.raises(LoadingError) as error:
        load_domain(path)

    assert told in str(error.value)
    assert "steps.json" in str(error.value)
