"""The options of `sopbench new` that are about a table, as one value."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click

_ROWS = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a user says of a table; what is empty or `None` was not said."""

    source: str | None = None
    sheet: str | None = None
    header: tuple[int, int] | None = None
    id: str | None = None
    outputs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    decimal: str | None = None
    sop: str | None = None

    def given(self) -> list[str]:
        """Return the options that make no sense without a table, as far as they were given."""
        options = {
            "--sheet": self.sheet,
            "--header": self.header,
            "--id": self.id,
            "--output": self.outputs,
            "--input": self.inputs,
            "--private": self.private,
            "--tool": self.tools,
            "--decimal": self.decimal,
            "--sop": self.sop,
        }
        return [name for name, value in options.items() if value]

    def with_source(self, source: str | None) -> Wishes:
        """Return the same with another table."""
        return replace(self, source=source)


def at_a_terminal() -> bool:
    """Whether somebody can answer, and sees the question."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a table, and hand them over as `wishes`."""

    @functools.wraps(command)
    def with_wishes(**options: Any) -> None:
        names = Wishes.__dataclass_fields__
        wishes = Wishes(**{name: options.pop(name) for name in names})
        command(wishes=wishes, **options)

    for option in reversed(_OPTIONS):
        with_wishes = option(with_wishes)
    return with_wishes


def _rows(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    found = _ROWS.fullmatch(value.strip())
    if found is None or int(found[2] or found[1]) - int(found[1]) not in (0, 1):
        msg = f"{value!r} is neither a row (2) nor two rows (2-3)"
        raise click.BadParameter(msg)
    return int(found[1]), int(found[2] or found[1])


_OPTIONS = (
    click.option("--from", "source", metavar="FILE", help="A table of old cases."),
    click.option("--sheet", metavar="NAME", help="The sheet of a workbook (the largest)."),
    click.option(
        "--header", callback=_rows, metavar="ROW[-ROW]", help="The rows with the names (found)."
    ),
    click.option("--id", metavar="COLUMN", help="Another value in each row (proposed)."),
    click.option(
        "--output", "outputs", multiple=True, metavar="COLUMN", help="Expected answer; repeatable."
    ),
    click.option(
        "--input", "inputs", multiple=True, metavar="COLUMN", help="For the agent; repeatable."
    ),
    click.option(
        "--private", "private", multiple=True, metavar="COLUMN", help="For nobody; repeatable."
    ),
    click.option(
        "--tool",
        "tools",
        multiple=True,
        metavar="COLUMN",
        help="For a tool, although it tells of persons or like an answer; repeatable.",
    ),
    click.option(
        "--decimal",
        type=click.Choice(["point", "comma"]),
        help="What stands before decimals, if cells leave that open.",
    ),
    click.option("--sop", metavar="FILE", help="The document of the procedure."),
)
