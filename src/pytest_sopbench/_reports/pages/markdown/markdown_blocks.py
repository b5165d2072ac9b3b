"""Text as Markdown shows it, and tables of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pytest_sopbench._reports.text.layout import one_line

_SIGNS = re.compile(
    r"[\\`*\[\]|~&@#]|<(?![= ])|(?<![^\W_])_|_(?![^\W_])|(?<=\w)(?=://)|\bwww(?=\.)"
)
"""What Markdown, or the site that shows it, would take for more than text."""


def escaped(text: str) -> str:
    """Return a text on one line that Markdown shows as it is, in a cell of a table too."""
    return _SIGNS.sub(_as_entity, one_line(text))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table whose cells are escaped already; the first column is text, others numbers."""
    yield f"| {' | '.join(heads)} |"
    yield f"| --- |{' ---: |' * (len(heads) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _as_entity(found: re.Match[str]) -> str:
    sign = found[0]
    # Empty between a scheme and its colon: a joiner that is not seen keeps it from being a link.
    return "".join(f"&#{ord(one)};" for one in sign) if len(sign) == 1 else f"{sign}&#8288;"
