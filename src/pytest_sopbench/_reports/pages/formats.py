"""The formats in which a page on a session can be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from pytest_sopbench._core.hiding import Mask, masking

if TYPE_CHECKING:
    # The names of the formats are read at every start, and that must not load comparisons.
    from pytest_sopbench._core.gates.decide import SessionPage


class PageFormat(Protocol):
    """A way to write a page; a user asks for it by `name`, as in `--sop-report NAME=PATH`."""

    @property
    def name(self) -> str: ...

    def render(self, page: SessionPage, /) -> str:
        """Return the whole text of the page, with its last line ended."""
        ...


class MarkdownFormat:
    """One page of Markdown."""

    @property
    def name(self) -> str:
        return "md"

    def render(self, page: SessionPage, /) -> str:
        # Only a session that writes a page pays for its modules.
        from .markdown import markdown  # noqa: PLC0415

        return markdown(page)


class CsvFormat:
    """One line a run, for a spreadsheet."""

    @property
    def name(self) -> str:
        return "csv"

    def render(self, page: SessionPage, /) -> str:
        from .csv_runs import csv_runs  # noqa: PLC0415

        return csv_runs(page)


class JsonFormat:
    """One document, for programs."""

    @property
    def name(self) -> str:
        return "json"

    def render(self, page: SessionPage, /) -> str:
        from .json_document import json_document  # noqa: PLC0415

        return json_document(page)


class HtmlFormat:
    """One HTML file that needs no network."""

    @property
    def name(self) -> str:
        return "html"

    def render(self, page: SessionPage, /) -> str:
        # As above; it needs a library besides, which an extra brings.
        from pytest_sopbench._reports.html.page import html_page  # noqa: PLC0415

        return html_page(page)


_IN_ORDER: Final[tuple[PageFormat, ...]] = (
    MarkdownFormat(),
    CsvFormat(),
    JsonFormat(),
    HtmlFormat(),
)

FORMATS: Final[dict[str, PageFormat]] = {one.name: one for one in _IN_ORDER}
"""Every format by its name; a new one is a module of its own and a row of `_IN_ORDER`."""

_MASKED_INSIDE: Final = frozenset({"csv", "json", "html"})
"""The formats that mask each text by itself: in a finished one a mask could hit half a number."""


def rendered(name: str, page: SessionPage, mask: Mask) -> str:
    """Return the whole text of a page, without what `mask` takes out of texts."""
    with masking(mask):
        text = FORMATS[name].render(page)
    return text if name in _MASKED_INSIDE else mask(text)
