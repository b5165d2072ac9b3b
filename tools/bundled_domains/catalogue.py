"""What the docs say of how hard each bundled domain is, worked out of its files.

    python -m bundled_domains.catalogue

prints these cells of the table in `docs/reference/bundled-domains.md`; a test holds the page
against them.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, cast

from bundled_domains.rows import rows_of
from bundled_domains.worlds import answers_in

BUNDLED = Path(__file__).parents[2] / "src" / "pytest_sopbench" / "bundled"
READS = frozenset(
    {
        *("calculate", "check", "compare", "count", "find", "get", "list", "look", "measure"),
        *("open", "read", "remeasure", "screen", "search", "show", "verify"),
    }
)
"""First words of tools that only read. Whatever begins otherwise writes, and has to be held."""


def figures(folder: Path) -> list[str]:
    """The cells of one domain: words of the procedure, calls (median and most), and hops."""
    sop = (folder / "sop.md").read_text(encoding="utf-8")
    runs = list(_runs(folder))
    calls = [len(run) for run, _ in runs]
    hops = [_hops(run, inputs) for run, inputs in runs]
    return [f"{len(sop.split()):,}", f"{median(calls):g}, {max(calls)}", str(max(hops))]


def _runs(folder: Path) -> Iterator[tuple[list[tuple[Mapping[str, Any], Any]], Mapping[str, Any]]]:
    """The calls of the reference policy on each row, with their results, and the row's inputs."""
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    decide = runpy.run_path(str(folder / "policy.py"))["decide"]
    for row in rows_of(folder, metadata.get("types", {})):
        answer = answers_in(folder)(metadata["tools"], row)
        run: list[tuple[Mapping[str, Any], Any]] = []

        def call(name: str, /, answer: Any = answer, run: Any = run, **arguments: Any) -> Any:
            run.append((arguments, None))
            place = len(run) - 1
            result = answer(name, arguments)
            run[place] = (arguments, result)
            return result

        inputs = {column: row[column] for column in metadata["input_columns"]}
        decide(inputs, call)
        yield run, inputs


def _hops(run: list[tuple[Mapping[str, Any], Any]], inputs: Mapping[str, Any]) -> int:
    """The longest chain of calls of which each takes an argument out of an earlier one's result."""
    given = set(_scalars(inputs))
    depths: list[int] = []
    for place, (arguments, _) in enumerate(run):
        wanted = set(_scalars(arguments)) - given
        depths.append(
            1
            + max(
                (
                    depth
                    for depth, (_, result) in zip(depths, run[:place], strict=True)
                    if wanted & set(_scalars(result))
                ),
                default=0,
            )
        )
    return max(depths, default=0)


def _scalars(value: Any) -> Iterator[str | int | float]:
    """Texts and numbers anywhere in a value; truth values and single characters name nothing."""
    if isinstance(value, Mapping):
        yield from _scalars([*cast("Mapping[str, Any]", value).values()])
    elif isinstance(value, list):
        for part in cast("Iterable[Any]", value):
            yield from _scalars(part)
    elif not isinstance(value, bool) and value is not None and len(str(value)) > 1:
        yield value


def table() -> str:
    """One line for each domain with tools, in the order of their names."""
    folders = sorted(path.parent for path in BUNDLED.glob("*/expected_calls.jsonl"))
    return "".join(f"| {folder.name} | {' | '.join(figures(folder))} |\n" for folder in folders)


if __name__ == "__main__":
    sys.stdout.write(table())
