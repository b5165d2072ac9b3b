"""Procedures from Word, PDF and HTML."""

from __future__ import annotations

import io
import logging
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._making.bounded import bounded, library, read_by
from pytest_sopbench._making.sheet import decoded, read_bytes
from pytest_sopbench.errors import LoadingError

# The text of a PDF: its larger lines become headings, and its ruled tables become tables.

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


# A document becomes the text of a procedure, with its headings and tables.

_PLAIN: Final = {".md": "sop.md", ".markdown": "sop.md", ".txt": "sop.txt", ".text": "sop.txt"}
_PAGES: Final = (".html", ".htm")
_WORD: Final = ".docx"
_PDF: Final = ".pdf"
DOCUMENTS: Final = (*_PLAIN, *_PAGES, _WORD, _PDF)
"""The endings of documents."""

_OTHERS: Final = {
    ".doc": "save it as .docx",
    ".odt": "save it as .docx",
    ".rtf": "save it as .docx",
    ".pages": "export it as .docx",
    ".pptx": "export it as .pdf",
}
_HINT: Final = "it can be .docx, .pdf, .html, .md or .txt"
_GAPS: Final = re.compile(r"\n{3,}")


@bounded
def read_procedure(path: Path) -> tuple[str, str, tuple[str, ...]]:
    """Return the name of the file that a procedure gets, its text, and what is to be told.

    Raises:
        LoadingError: the document is missing, of another kind, unreadable, or without text.
    """
    suffix = path.suffix.lower()
    if path.is_dir():
        raise LoadingError(path, "is a folder", hint=f"name the document; {_HINT}")
    if not path.exists():
        raise LoadingError(path, "no such file")
    notes: tuple[str, ...] = ()
    if suffix in _PLAIN:
        text, notes = decoded(read_bytes(path), path)
    elif suffix in _PAGES:
        page, notes = decoded(read_bytes(path), path)
        text = _markdown(page, path)
    elif suffix == _WORD:
        text = _markdown(_docx(path), path)
    elif suffix == _PDF:
        text, notes = pdf_text(path), (f"{path.name}: read headings and tables through once more",)
    else:
        hint = _OTHERS.get(suffix, _HINT)
        raise LoadingError(path, f"{suffix or 'no ending'!r} is no document", hint=hint)
    lines = "\n".join(line.replace("\u00a0", " ").rstrip() for line in text.splitlines())
    text = f"{_GAPS.sub(chr(10) * 2, lines).strip()}\n"
    if not text.strip():
        hint = "a scanned document has pictures of letters: save it with its text"
        raise LoadingError(path, "holds no text", hint=hint)
    return _PLAIN.get(suffix, "sop.md"), text, notes


def _docx(path: Path) -> str:
    if not zipfile.is_zipfile(path):
        hint = "save it as .docx; one with a password has to be saved without"
        raise LoadingError(path, "is no Word document", hint=hint)
    mammoth = library("mammoth", path=path)
    try:
        html: str = mammoth.convert_to_html(io.BytesIO(read_bytes(path))).value
    except LoadingError:
        raise
    except Exception as fault:
        # A broken file ends in whatever its reader stumbles over, of no common kind.
        raise read_by(path, "mammoth", fault) from fault
    return html


def _markdown(html: str, path: Path) -> str:
    markdownify = library("markdownify", path=path)
    soup = library("bs4", path=path).BeautifulSoup(html, "html.parser")
    for mark in soup(["script", "style", "head", "img"]):
        mark.decompose()
    for table in soup("table"):
        _name_columns(table)
    logging.getLogger("markdownify").setLevel(logging.ERROR)
    # The text is read by models and compared with names of tools: no sign of it is escaped.
    converter = markdownify.MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        escape_misc=False,
        escape_underscores=False,
        escape_asterisks=False,
    )
    text: str = converter.convert_soup(soup)
    return text


def _name_columns(table: Any) -> None:
    """Take the first row for the names of the columns; else Markdown makes up an empty one."""
    first = table.find("tr")
    if first is not None and first.find("th") is None:
        for cell in first.find_all("td"):
            cell.name = "th"
