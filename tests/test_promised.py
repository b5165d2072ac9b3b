"""What a release promises stands in one file, and the code keeps it."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import promised
import pytest
from promised import PATH

import pytest_sopbench
from pytest_sopbench import Match, Metric, Mismatch, RunKey, hookspecs
from tests.builders.tables import METRICS, table

ROOT = Path(__file__).parents[1]


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


def test_the_schema_of_the_json_report_has_every_metric() -> None:
    """A new metric is a new key of the report: `promised.py --write`."""
    assert promised.SCHEMA.read_text("utf-8") == promised.schema_text()


@pytest.mark.parametrize(("unit", "kind"), [("calls", "value"), ("", "rate")])
def test_a_new_metric_gets_its_keys_in_the_schema(
    monkeypatch: pytest.MonkeyPatch, unit: str, kind: str
) -> None:
    metric = Metric(name="a_new_one", label="a new one", of=lambda run: len(run.calls), unit=unit)
    monkeypatch.setitem(METRICS, metric.name, metric)

    shapes = json.loads(promised.schema_text())["$defs"]

    for place in ("summary", "pooled"):
        assert {"$ref": f"#/$defs/{kind}"} == shapes[place]["properties"]["a_new_one"]


def test_the_short_spelling_of_an_option_is_part_of_it() -> None:
    assert {"--agent", "--sop-agent"} <= {*promised.promised()["options"]}


def test_another_exit_status_changes_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promised.app, "INCONCLUSIVE", 4)

    assert json.loads(PATH.read_text("utf-8")) != promised.promised()


def test_a_hook_with_another_parameter_changes_the_manifest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def renamed(key: RunKey, number: int) -> None: ...

    monkeypatch.setattr(hookspecs, "pytest_sop_wrap_run", renamed)

    assert ["key", "number"] == promised.promised()["hooks"]["pytest_sop_wrap_run"]


def test_a_parameter_is_told_with_how_it_is_given_and_whether_it_may_be_left() -> None:
    def takes(first: int, second: int = 2, *, third: int, **more: int) -> None: ...

    assert ["first", "second=", "*", "third", "**more"] == promised.parameters(takes)


def test_methods_of_a_class_are_told_with_their_parameters() -> None:
    class Reader:
        @classmethod
        def read(cls, path: Path) -> None: ...

        @staticmethod
        def parse(text: str, *, strict: bool = True) -> None: ...

    Reader.__module__ = "pytest_sopbench.reader"

    assert {"read": ["cls", "path"], "parse": ["text", "*", "strict="]} == promised.shape(Reader)


def test_parameters_of_a_class_are_promised_if_users_make_it() -> None:
    assert ["held", "why=", "score=", "quote="] == promised.shape(Match)["()"]
    assert "()" not in promised.shape(Mismatch)


def test_classes_that_the_pages_make_are_those_of_which_parameters_are_promised() -> None:
    pages = [path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")]
    pages += [path.read_text("utf-8") for path in (ROOT / ".ci" / "types").rglob("*.py")]
    classes = {
        name
        for name in pytest_sopbench.__all__
        if inspect.isclass(getattr(pytest_sopbench, name)) and name not in {"Task", "Unavailable"}
    }  # one page has a Task of another package, and `Unavailable` takes what exceptions take
    made = {name for name in classes for page in pages if re.search(rf"(?<![\w.]){name}\(", page)}

    assert made
    assert made <= promised.MADE_BY_USERS <= classes


def test_commands_within_a_command_are_part_of_it() -> None:
    commands = promised.promised()["commands"]

    assert "labels" in commands["judge check"]
    assert "--dry-run" in commands["cassettes prune"]


def test_a_key_of_the_json_report_is_told_with_what_holds_it() -> None:
    schema = {
        "properties": {"a": {"items": {"properties": {"b": True}}}, "c": {"anyOf": [{"$ref": ""}]}},
        "$defs": {"run": {"properties": {"d": {}}}},
    }

    assert ["run: d", "a", "a.b", "c"] == [*promised.keys_of(schema)]


@pytest.mark.parametrize(("name", "part"), [("Run", "assert_correct"), ("RunRecord", "outcome")])
def test_methods_and_attributes_are_part_of_it(name: str, part: str) -> None:
    shape: dict[str, Any] = promised.promised()["names"][name]

    assert part in shape


def test_formats_without_a_number_are_promised_by_their_keys() -> None:
    held: dict[str, list[str]] = promised.promised()["formats without a number"]

    assert {"name", "output_columns", "tools", "contract", "class"} <= {*held["domain folder"]}
    assert ["task", "calls", "or"] == held["snapshot"]
