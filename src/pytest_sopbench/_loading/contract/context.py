"""The rule that is being read: the names it may use, and the errors that name it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pytest_sopbench._core.contract.conditions import Source
from pytest_sopbench._loading.domain.layout import Layout
from pytest_sopbench._loading.files.suggestions import listed, nearest_few
from pytest_sopbench.errors import LoadingError


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePlace:
    """A rule of the file at `path`; `rule` is its id in quotes, or its number where it has none."""

    path: Path
    rule: str
    tools: Collection[str]
    columns: Layout

    def refuse(self, key: str, problem: str, hint: str = "") -> NoReturn:
        """Raise a `LoadingError` that names the file, the rule and the key."""
        where = f"rule {self.rule}, {key}" if key else f"rule {self.rule}"
        raise LoadingError(self.path, f"{where}: {problem}", column="contract", hint=hint)

    def known(self, key: str, kind: str, name: str, names: Collection[str]) -> str:
        if name not in names:
            near = nearest_few(name, names)
            known = listed(sorted(names)) or "none"
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {known}"
            self.refuse(key, f"no {kind} is called {name!r}", hint)
        return name

    def tool(self, key: str, name: str) -> str:
        return self.known(key, "tool", name, self.tools)

    def tool_list(self, key: str, names: Sequence[str]) -> tuple[str, ...]:
        for name, count in Counter(names).items():
            if count > 1:
                self.refuse(key, f"tool {name!r} is named twice", "name it once")
        return tuple(self.tool(key, name) for name in names)

    def column(self, key: str, source: Source, name: str) -> str:
        """Return the column for a name, which for a result may be `column` or `tool.column`."""
        if source is Source.INPUT:
            return self.known(key, "input", name, self.columns.inputs)
        tool, dot, column = name.partition(".")
        if name in self.columns.results or not dot:
            return self.known(key, "tool result", name, self.columns.results)
        self.tool(key, tool)
        return self.known(key, "tool result", column, self.columns.results)

    def output(self, key: str, name: str) -> str:
        return self.known(key, "output field", name, self.columns.outputs)

    def any_column(self, key: str, name: str) -> str:
        parts = self.columns
        return self.known(key, "column", name, [*parts.inputs, *parts.results, *parts.outputs])
