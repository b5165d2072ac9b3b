"""What the generators of bundled domains share: dice, look-up answers, and the files they write.

Labels and expected calls come from a domain's `policy.py` alone, over tools that answer as its
`metadata.json` declares. Rows are typed, in JSON's types; the cells of a CSV are written of them.
"""

from __future__ import annotations

import csv
import io
import json
import random
import runpy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pytest_sopbench.errors import ToolError

TRIES = 20_000

T = TypeVar("T")
Row: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = Callable[[str, Mapping[str, Any]], Any]
"""What a tool answers to its arguments; raises `ToolError` where the call fails."""
AnswerOfRow: TypeAlias = Callable[[Mapping[str, Any], Row], Answer]


def bundled(name: str) -> Path:
    """Return the folder of a bundled domain in this checkout."""
    return Path(__file__).parents[2] / "src" / "pytest_sopbench" / "bundled" / name


class Dice:
    """Seeded choices, made of `random()` alone: Python keeps no other sequence for good."""

    def __init__(self, seed: int) -> None:
        # Dice choose wording and order; nothing here guards a secret.
        self._random = random.Random(seed).random  # noqa: S311 - reproducible, not secret

    def below(self, limit: int) -> int:
        return int(self._random() * limit)

    def between(self, lowest: int, highest: int) -> int:
        """A whole number of these bounds; both are possible."""
        return lowest + self.below(highest - lowest + 1)

    def pick(self, things: Sequence[T]) -> T:
        return things[self.below(len(things))]

    def shuffled(self, things: Iterable[T]) -> list[T]:
        left = list(things)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]


def look_ups(tools: Mapping[str, Any], row: Row) -> Answer:
    """The look-up tools of one row, as the key `tools` of `metadata.json` declares them.

    A key of a tool with a `table` is a column of the row where the row has it, else one of the
    records in the cell of that name.
    """

    def answer(name: str, arguments: Mapping[str, Any]) -> Any:
        tool = tools[name]
        wanted = {*tool.get("key", ()), *tool.get("check", ())}
        in_row = {one: arguments[one] for one in wanted & set(row)}
        if not _fits(row, in_row):
            msg = f"{name}: no record with {in_row}"
            raise ToolError(msg)
        if "returns" not in tool:
            return tool["result"]
        if "table" not in tool:
            return _served(tool, row)
        in_records = {one: arguments[one] for one in wanted - set(row)}
        found = [record for record in row[tool["table"]] if _fits(record, in_records)]
        if not found and tool.get("not_found", "error") == "error":
            msg = f"{name}: no record with {in_records}"
            raise ToolError(msg)
        served = [_served(tool, record) for record in found]
        return served if tool.get("many") else served[0]

    return answer


def _fits(record: Row, wanted: Mapping[str, Any]) -> bool:
    return all(record[column] == value for column, value in wanted.items())


def _served(tool: Mapping[str, Any], record: Row) -> dict[str, Any]:
    served = {column: record[column] for column in tool["returns"]}
    missing = all(value in (None, "") for value in served.values())
    if missing and not tool.get("many") and tool.get("missing", "error") == "error":
        msg = f"the record has no {', '.join(served)}"
        raise ToolError(msg)
    return served


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What the policy made of one row."""

    answer: Mapping[str, Any]
    calls: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """Writes the data of the domain in `folder`; `rows` are whole but for the output columns."""

    folder: Path
    rows: Callable[[], Sequence[Row]]
    data: str = "data.csv"
    answers: AnswerOfRow = look_ups

    def files(self) -> dict[str, bytes]:
        """Both files, whole, by name."""
        metadata: dict[str, Any] = json.loads((self.folder / "metadata.json").read_text("utf-8"))
        policy = runpy.run_path(str(self.folder / "policy.py"))["decide"]
        rows: list[Row] = []
        lines: list[str] = []
        for row in self.rows():
            inputs = {column: row[column] for column in metadata["input_columns"]}
            found = decided(policy, inputs, self.answers(metadata["tools"], row))
            rows.append({**row, **found.answer})
            lines.append(_line({"task": row[metadata["id_column"]], "calls": found.calls}))
        write = table if self.data.endswith(".csv") else json_lines
        return {
            self.data: write(_columns(metadata, rows[0]), rows),
            "expected_calls.jsonl": "".join(lines).encode(),
        }

    def main(self, arguments: Sequence[str]) -> int | str:
        """Write the files, or tell with `--check` whether one would differ."""
        if list(arguments) not in ([], ["--check"]):
            return "usage: python -m bundled_domains.NAME.generate [--check]"
        for name, content in self.files().items():
            path = self.folder / name
            if not arguments:
                path.write_bytes(content)
            elif not path.is_file() or path.read_bytes() != content:
                return f"{name} differs from what its generator writes; run it without --check"
        return 0


def first_kept(draw: Callable[[], T], keep: Callable[[T], bool], what: str) -> T:
    """The first of many draws that is one to keep; an error that names what was sought."""
    for _ in range(TRIES):
        drawn = draw()
        if keep(drawn):
            return drawn
    msg = f"{TRIES} draws, and none was {what}"
    raise SystemExit(msg)


def decided(policy: Callable[..., Any], inputs: Row, answer: Answer) -> Decided:
    """The policy's answer to one row, and the calls that it made, those that fail included."""
    calls: list[dict[str, Any]] = []

    def call(tool: str, /, **arguments: Any) -> Any:
        calls.append({"name": tool, "arguments": arguments})
        return answer(tool, arguments)

    return Decided(answer=policy(inputs, call), calls=calls)


def table(columns: Sequence[str], rows: Iterable[Row]) -> bytes:
    """The rows as a CSV; an empty cell is null."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode()


def json_lines(columns: Sequence[str], rows: Iterable[Row]) -> bytes:
    """The rows as objects of JSON, one a line."""
    return "".join(_line({name: row[name] for name in columns}) for row in rows).encode()


def cell(value: Any) -> str:
    """A value as a cell says it, so that it is read again as what it is."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _columns(metadata: Mapping[str, Any], row: Row) -> list[str]:
    """Inputs, tool results, outputs and tags, in this order."""
    named = [*metadata["input_columns"], *metadata["output_columns"], metadata["tags_column"]]
    results = [name for name in row if name not in named]
    return [*metadata["input_columns"], *results, *named[len(metadata["input_columns"]) :]]


def _line(value: Any) -> str:
    return json.dumps(value) + "\n"
