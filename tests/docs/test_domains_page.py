"""The examples of the page on domain folders do what the page says of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench import Domain
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.metadata import (
    DocumentMetadata,
    LookupShape,
    Metadata,
    OutputShape,
    TableShape,
)
from pytest_sopbench._loading.tools import read_tool_specs
from pytest_sopbench._running.tools.codeless import look_up

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "domains.md").read_text(encoding="utf-8")
FILES = dict(
    re.findall(r"`domains/late_returns/([a-z.]+)`:\n\n```[a-z]+\n(.*?)```", PAGE, re.DOTALL)
)
BLOCKS = re.findall(r"```([a-z]+)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def late_returns(tmp_path: Path) -> Domain:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return load_domain(tmp_path)


class Tools:
    """What the example's agent needs of a toolbox."""

    def __init__(self, domain: Domain, place: int) -> None:
        task = domain.tasks[place]
        self._domain = domain
        self._row = {**task.results, **task.inputs}

    def call(self, name: str, /, **arguments: Any) -> Any:
        return look_up(self._domain.lookups[name], self._row, arguments)


def function_of(name: str) -> Callable[..., Mapping[str, Any]]:
    (code,) = [code for language, code in BLOCKS if language == "python" and f"def {name}(" in code]
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the page's own example is what is tested
    return names[name]


def test_the_example_loads_without_a_warning(late_returns: Domain) -> None:
    assert {"sop.md", "toolspecs.json", "metadata.json", "data.csv"} == set(FILES)
    assert () == late_returns.warnings
    assert ("R-101", "R-102", "R-103", "R-104", "R-105") == late_returns.task_ids
    assert ("order_id", "member") == late_returns.input_columns


def test_the_agent_of_the_example_is_right_on_all_tasks(late_returns: Domain) -> None:
    agent = function_of("agent")

    for place, task in enumerate(late_returns.tasks):
        assert task.expected == agent(task.inputs, Tools(late_returns, place))


def test_the_policy_of_the_example_is_right_on_all_tasks(late_returns: Domain) -> None:
    decide = function_of("decide")

    for place, task in enumerate(late_returns.tasks):
        assert task.expected == decide(task.inputs, Tools(late_returns, place).call)


def test_the_manager_of_the_example_answers(late_returns: Domain) -> None:
    (code,) = [code for _, code in BLOCKS if "class ReturnsManager" in code]
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the page's own example is what is tested
    task = late_returns.tasks[0]
    manager = names["ReturnsManager"]({**task.results, **task.inputs})

    assert {"days": 30} == manager.process_tool_call("get_order", {"order_id": "R-101"})
    with pytest.raises(ValueError, match="no such order"):
        manager.process_tool_call("get_order", {"order_id": "R-102"})


def test_all_four_spec_shapes_of_the_page_are_read(tmp_path: Path) -> None:
    (shapes,) = [code for language, code in BLOCKS if language == "json" and "toolSpec" in code]
    path = tmp_path / "toolspecs.json"
    path.write_text(shapes, encoding="utf-8")

    assert ["a", "b", "c", "d"] == [spec.name for spec in read_tool_specs(path)]


def test_the_page_names_every_key_of_the_format() -> None:
    """A key that is not described does not exist for a user."""
    shapes = (Metadata, DocumentMetadata, OutputShape, LookupShape, TableShape)
    fields = [field for shape in shapes for field in shape.model_fields.items()]
    keys = {field.alias or name for name, field in fields}

    assert [] == sorted(key for key in keys if f"`{key}`" not in PAGE)


def test_json_of_the_page_is_json() -> None:
    for language, code in BLOCKS:
        if language == "json":
            json.loads(code)
