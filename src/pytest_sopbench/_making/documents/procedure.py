"""A document becomes the text of a procedure, with its headings and tables."""

from __future__ import annotations

import io
import logging
import re
import zipfile
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._making.bounded import bounded
from pytest_sopbench._making.libraries import library, read_by
from pytest_sopbench._making.sheet.delimited import decoded, read_bytes
from pytest_sopbench.errors import LoadingError

from .pdf import pdf_text

_PLAIN: Final = {".md": "sop.md", ".markdown": "sop.md", ".txt": "sop.txt", ".text": "sop.txt"}
_PAGES: Final = (".html", ".htm")
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
    elif suffix == ".docx":
        text = _markdown(_docx(path), path)
    elif suffix == ".pdf":
        text, notes = pdf_text(path), (f"{path.name}: read headings and tables through once more",)
    else:
        hint = _OTHERS.get(suffix, _HINT)
        raise LoadingError(path, f"{suffix or 'no ending'!r} is no document", hint=hint)
    text = _tidy(text)
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


def _tidy(text: str) -> str:
    lines = (line.replace("\u00a0", " ").rstrip() for line in text.splitlines())
    return f"{_GAPS.sub(chr(10) * 2, chr(10).join(lines)).strip()}\n"
