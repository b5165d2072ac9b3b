"""What a release promises stands in one file, and the code keeps it."""

from __future__ import annotations

import json
from typing import Any

import promised
import pytest
from promised import PATH

import pytest_sopbench
from tests.builders.tables import table


def test_the_manifest_is_what_the_code_has() -> None:
    """A changed name, parameter, option or format is a changed promise: `promised.py --write`."""
    assert json.loads(PATH.read_text("utf-8")) == promised.promised()


def test_a_public_name_that_is_gone_changes_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [name for name in pytest_sopbench.__all__ if name != "Run"]

    monkeypatch.setattr(pytest_sopbench, "__all__", kept)

    assert "Run" not in promised.promised()["names"]


def test_an_option_by_another_name_changes_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = table.TABLE
    renamed = first._replace(name="sop_realm")

    monkeypatch.setattr(promised, "TABLE", (renamed, *others))

    assert "--sop-realm" in promised.promised()["options"]
    assert first.option not in promised.promised()["options"]


@pytest.mark.parametrize(("name", "part"), [("Run", "assert_correct"), ("RunRecord", "outcome")])
def test_methods_and_attributes_are_part_of_it(name: str, part: str) -> None:
    shape: dict[str, Any] = promised.promised()["names"][name]

    assert part in shape


def test_formats_without_a_number_are_promised_by_their_keys() -> None:
    held: dict[str, list[str]] = promised.promised()["formats without a number"]

    assert {"name", "output_columns", "tools", "contract", "class"} <= {*held["domain folder"]}
    assert ["task", "calls", "or"] == held["snapshot"]
