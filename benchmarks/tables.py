"""Prints what was measured, each beside its reference and its limit."""

from __future__ import annotations

import sys
from argparse import ArgumentParser


def is_small(description: str | None) -> bool:
    """Read the command line of a benchmark, which has one option."""
    parser = ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a quick look, at small sizes")
    return bool(parser.parse_args().small)


class Table:
    """Lines of a benchmark; `status` is 1 as soon as one of them has missed its limit."""

    def __init__(self, name: str, measured: str, reference: str) -> None:
        self.status = 0
        self._line(name, measured, reference, "ratio", "at most")

    def row(
        self,
        name: str,
        measured: str,
        reference: str = "",
        *,
        value: float | None = None,
        most: float | None = None,
    ) -> None:
        """Print one line: `value` is the ratio, or whatever else `most` limits."""
        missed = most is not None and (value is None or not value <= most)
        self.status |= missed
        self._line(
            name,
            measured,
            reference,
            "" if value is None else f"{value:.3g}",
            ("" if most is None else f"{most:g}") + ("  MISSED" if missed else ""),
        )

    def check(self, name: str, faults: list[str], what: str) -> None:
        """Print one line of something that must hold without a number, and its first faults."""
        self.row(name, what, value=len(faults), most=0)
        for fault in faults[:5]:
            print(f"    {fault}")

    def _line(self, name: str, measured: str, reference: str, ratio: str, most: str) -> None:
        print(f"{name:48} {measured:>16} {reference:>16} {ratio:>8}  {most}".rstrip())
        sys.stdout.flush()
