"""The rubric of a field that a model judges, as `metadata.json` declares it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError


def domain(tmp_path: Path, private: bool = False, **letter: Any) -> Path:
    folder = tmp_path / "claims"
    folder.mkdir()
    (folder / "sop.md").write_text("Read the claim, and write a letter.\n")
    (folder / "rubric.md").write_text("\n It grants the refund. \n")
    (folder / "blank.md").write_text("\n")
    (tmp_path / "elsewhere.md").write_text("x")
    (folder / "data.csv").write_text("claim,letter\nC_1,We refund 10\n")
    metadata = {
        "name": "claims",
        "id_column": "claim",
        "input_columns": ["claim"],
        "output_columns": ["letter"],
        "private_columns": ["letter"] if private else [],
        "outputs": {"letter": letter},
    }
    (folder / "metadata.json").write_text(json.dumps(metadata))
    return folder


@pytest.mark.parametrize(
    "letter",
    [{"rubric": " It grants the refund. "}, {"rubric_file": "rubric.md"}],
    ids=["text", "file"],
)
def test_a_rubric_is_a_text_or_a_file_of_the_domain(tmp_path: Path, letter: dict[str, Any]) -> None:
    (field,) = load_domain(domain(tmp_path, compare="judge", **letter)).fields

    assert "It grants the refund." == field.rubric


@pytest.mark.parametrize(
    ("letter", "told"),
    [
        pytest.param({}, "'outputs.letter.rubric': nothing says what to judge by", id="none"),
        pytest.param({"rubric": " "}, "nothing says what to judge by", id="blank"),
        pytest.param(
            {"rubric": "x", "rubric_file": "rubric.md"}, "there is a 'rubric' as well", id="both"
        ),
        pytest.param({"rubric_file": "no.md"}, "there is no file no.md", id="no-file"),
        pytest.param({"rubric_file": "blank.md"}, "the file is empty", id="empty-file"),
        pytest.param(
            {"rubric_file": "../elsewhere.md"}, "lies outside of the domain", id="outside"
        ),
        pytest.param(
            {"rubric": "x", "compare": "exact"}, "nothing judges by it, since 'compare'", id="exact"
        ),
        pytest.param({"rubric": "x", "at_least": 0.5}, "a judge says yes or no", id="score"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(
    tmp_path: Path, letter: dict[str, Any], told: str
) -> None:
    with pytest.raises(LoadingError) as raised:
        load_domain(domain(tmp_path, **{"compare": "judge", **letter}))

    assert told in str(raised.value)


def test_a_private_column_goes_to_no_judge(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="the column is private, and a judge is a model of a"):
        load_domain(domain(tmp_path, private=True, compare="judge", rubric="x"))
