"""No bundled domain can be had cheaply: not by one answer, one column, or one tool less."""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest

from pytest_sopbench._audit.policy_source import (
    flat_columns,
    frozen,
    right_by_category,
    right_by_cut_off,
    right_by_one_question,
)
from pytest_sopbench.errors import ToolError

SHORTCUT = 0.75
NEEDED = 0.05


def results_of(domain: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    known = {*domain.metadata["input_columns"], *domain.metadata["output_columns"]}
    return {name: value for name, value in row.items() if name not in {*known, "tags"}}


# --- one answer ------------------------------------------------------------------------------


def test_no_two_rows_have_equal_inputs(every_domain: Any) -> None:
    """Not even but for their ids, which say nothing of a case."""
    id_column = every_domain.metadata["id_column"]

    cases = Counter(
        frozen({k: v for k, v in every_domain.inputs(row).items() if k != id_column})
        for row in every_domain.rows
    )

    assert [] == [case for case, rows in cases.items() if rows > 1]


# --- one tool less ---------------------------------------------------------------------------


def answers_to_the_policy(domain: Any, tools_of: Callable[..., Any]) -> dict[str, Counter[str]]:
    """What each tool answers where the policy calls it, and how often; empty is a failure."""
    seen: dict[str, Counter[str]] = {name: Counter() for name in domain.specs}
    for row in domain.rows:
        tools = tools_of(domain, row)

        def call(name: str, /, tools: Any = tools, **arguments: Any) -> Any:
            try:
                answer = tools.call(name, **arguments)
            except ToolError:
                seen[name][""] += 1
                raise
            seen[name][frozen(answer)] += 1
            return answer

        domain.decide(domain.inputs(row), call)
    return seen


def decision_without(domain: Any, tools: Any, row: Mapping[str, Any], tool: str, usual: str) -> Any:
    """What the policy makes of a row where one tool always answers the same."""

    def call(name: str, /, **arguments: Any) -> Any:
        if name != tool:
            return tools.call(name, **arguments)
        if not usual:
            raise ToolError(name)
        return json.loads(usual)

    try:
        return domain.decide(domain.inputs(row), call)
    except ToolError as refused:
        # What the usual answer leads to is refused by a later tool: nobody could go on.
        return refused


def test_a_policy_that_skips_a_needed_tool_loses_tasks(
    domain_with_tools: Any, tools_of: Any
) -> None:
    """Its answer is replaced by the most frequent one: 5 % of the tasks are lost at least."""
    rows = domain_with_tools.rows
    cheap: set[str] = set()

    for tool, answers in answers_to_the_policy(domain_with_tools, tools_of).items():
        if tool in domain_with_tools.distractors:
            continue
        usual = answers.most_common(1)[0][0]
        wrong = sum(
            decision_without(domain_with_tools, tools_of(domain_with_tools, row), row, tool, usual)
            != domain_with_tools.expected(row)
            for row in rows
        )
        if wrong < NEEDED * len(rows):
            cheap.add(tool)

    assert domain_with_tools.excused("a needed tool costs tasks") == cheap


def test_a_distractor_is_never_called_and_every_other_tool_is(
    domain_with_tools: Any, tools_of: Any
) -> None:
    seen = answers_to_the_policy(domain_with_tools, tools_of)

    assert domain_with_tools.distractors == {name for name, answers in seen.items() if not answers}


# --- one column ------------------------------------------------------------------------------


def columns(domain: Any) -> dict[str, list[Any]]:
    """Every input and every tool result, laid out flat."""
    return flat_columns([domain.inputs(row) | results_of(domain, row) for row in domain.rows])


@pytest.mark.parametrize(
    ("cells", "labels", "by_category", "by_cut_off"),
    [
        pytest.param([1, 2, 3, 4] * 5, list("aabb") * 5, 20, 20, id="a cut-off"),
        pytest.param([1, 2, 3, 4] * 5, list("abab") * 5, 20, 15, id="categories"),
        pytest.param(list(range(20)), list("ab") * 10, 10, 11, id="all different"),
        pytest.param([None, None, 7, 7] * 5, list("aabb") * 5, 20, 20, id="what is missing tells"),
    ],
)
def test_a_stump_finds_what_there_is(
    cells: list[Any], labels: list[str], by_category: int, by_cut_off: int
) -> None:
    """The measure itself; else a law that it measures by would hold for nothing."""
    assert by_category == right_by_category(cells, labels)
    assert by_cut_off == right_by_cut_off(cells, labels)


def test_no_single_column_tells_a_label(every_domain: Any) -> None:
    """The best rule of one question is right on less than 75 % of the rows, in each field."""
    found: set[str] = set()
    flat = columns(every_domain)
    limit = SHORTCUT * len(every_domain.rows)

    for output, labels in every_domain.labels.items():
        if any(right_by_one_question(cells, labels) >= limit for cells in flat.values()):
            found.add(output)

    assert every_domain.excused("no single column tells a label") == found


# --- every branch ----------------------------------------------------------------------------


class Marks(ast.NodeTransformer):
    """Puts a mark where each way of a fork begins; `all` are the marks that it has put."""

    def __init__(self) -> None:
        self.all: set[str] = set()

    def _call(self, node: ast.AST, way: str) -> ast.Call:
        mark = f"line {getattr(node, 'lineno', 0)}, {way}"
        self.all.add(mark)
        return ast.Call(
            func=ast.Name(id="__mark__", ctx=ast.Load()), args=[ast.Constant(mark)], keywords=[]
        )

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(self._call(node, "if so")))
        node.orelse.insert(0, ast.Expr(self._call(node, "if not")))
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        self.generic_visit(node)
        # The mark returns None, so `mark or value` is the value.
        for way, part in (("body", "if so"), ("orelse", "if not")):
            value = ast.BoolOp(op=ast.Or(), values=[self._call(node, part), getattr(node, way)])
            setattr(node, way, value)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(self._call(node, "failed")))
        return node


def test_rows_take_every_branch_of_the_policy(
    every_domain: Any, tools_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways of each fork: a clause that no row meets is tested by nobody."""
    path = every_domain.folder / "policy.py"
    marks = Marks()
    tree = ast.fix_missing_locations(marks.visit(ast.parse(path.read_text(encoding="utf-8"))))
    taken: set[str] = set()
    module = ModuleType("marked_policy")
    vars(module).update(__mark__=taken.add, __file__=str(path))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(tree, str(path), "exec"), vars(module))  # noqa: S102 - our own file, with marks

    for row in every_domain.rows:
        module.decide(every_domain.inputs(row), tools_of(every_domain, row).call)

    assert set() == marks.all - taken


def test_every_tag_is_on_a_row_of_its_own_kind(every_domain: Any) -> None:
    """A tag that all rows have selects nothing."""
    counts = Counter(tag for tags in tags_of(every_domain) for tag in tags)

    assert counts
    assert [] == [tag for tag, rows in counts.items() if rows == len(every_domain.rows)]


def tags_of(domain: Any) -> Iterator[list[str]]:
    for row in domain.rows:
        tags = row[domain.metadata["tags_column"]] or ""
        yield tags.split(",") if isinstance(tags, str) and tags else list(tags)
