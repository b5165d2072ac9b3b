"""The text of a PDF: its larger lines become headings, and its ruled tables become tables."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._making.libraries import library, read_by
from pytest_sopbench.errors import LoadingError

_LARGER: Final = 1.15
"""From this ratio to the size of most letters on, a short line is a heading."""

_LONGEST: Final = 120
_LEVELS: Final = 3


def pdf_text(path: Path) -> str:
    """Return the text of all pages as Markdown.

    Raises:
        LoadingError: it is no PDF, is protected, or cannot be read.
    """
    if not path.read_bytes()[:1024].lstrip().startswith(b"%PDF"):
        raise LoadingError(path, "is no PDF", hint="is it what its name says?")
    pdfplumber = library("pdfplumber", path=path)
    # It tells of each font that it cannot measure.
    logging.getLogger("pdfminer").setLevel(logging.ERROR)
    try:
        with pdfplumber.open(path) as document:
            pages = [list(_blocks(page)) for page in document.pages]
    except Exception as fault:
        # A broken file ends in whatever its reader stumbles over, of no common kind.
        if "Password" in type(fault).__name__ or "Password" in repr(fault):
            raise LoadingError(
                path, "is protected by a password", hint="save it without"
            ) from fault
        raise read_by(path, "pdfplumber", fault) from fault
    blocks = [block for page in pages for block in page]
    return "\n".join(_written(blocks, _levels(blocks)))


def _blocks(page: Any) -> Iterator[tuple[float, str]]:
    """Yield lines with the size of their letters, and tables with 0, from top to bottom."""
    tables = page.find_tables()
    boxes = [table.bbox for table in tables]
    found: list[tuple[float, float, str]] = [
        (table.bbox[1], 0.0, _table(table.extract())) for table in tables
    ]
    for line in page.extract_text_lines():
        middle = (line["top"] + line["bottom"]) / 2
        if not any(top <= middle <= bottom for _, top, _, bottom in boxes):
            sizes = Counter(round(sign["size"], 1) for sign in line["chars"])
            found.append((line["top"], sizes.most_common(1)[0][0], line["text"].strip()))
    return ((size, text) for _, size, text in sorted(found, key=lambda one: one[0]) if text)


def _table(rows: Sequence[Sequence[str | None]]) -> str:
    lines = [f"| {' | '.join(' '.join((cell or '').split()) for cell in row)} |" for row in rows]
    if not lines:
        return ""
    ruler = f"|{' --- |' * len(rows[0])}"
    return "\n".join(["", lines[0], ruler, *lines[1:], ""])


def _levels(blocks: Sequence[tuple[float, str]]) -> dict[float, int]:
    """Return the level of a heading for each size that is larger than that of most letters."""
    letters: Counter[float] = Counter()
    for size, text in blocks:
        letters[size] += len(text) if size else 0
    if not letters:
        return {}
    usual = letters.most_common(1)[0][0]
    larger = sorted((size for size in letters if size >= usual * _LARGER), reverse=True)
    return {size: min(level, _LEVELS) for level, size in enumerate(larger, 1)}


def _written(blocks: Sequence[tuple[float, str]], levels: dict[float, int]) -> Iterator[str]:
    for size, text in blocks:
        if size in levels and len(text) <= _LONGEST:
            yield f"\n{'#' * levels[size]} {text}\n"
        else:
            yield text
