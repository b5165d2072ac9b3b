"""The formats in which a page on a session can be written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.gates.decide import SessionPage
from pytest_sopbench._core.hiding import Mask, harmless, masking
from pytest_sopbench._reports.pages.csv_runs import csv_runs
from pytest_sopbench._reports.pages.json_document import json_document
from pytest_sopbench._reports.pages.markdown import markdown
from pytest_sopbench._settings.extensions import installed_formats, loaded, source_of
from pytest_sopbench._settings.readers import ANNOTATIONS
from pytest_sopbench.errors import ExtensionError


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFormat:
    """A way to write a page.

    Attributes:
        name: as in `--sop-report NAME=PATH`.
        render: returns the whole text of a page, with its last line ended.
        masks: whether it masks each text by itself: in a finished one a mask could hit half a
            number.
        source: the package and the entry point that it comes from; empty for those of the plugin.
    """

    name: str
    render: Callable[[SessionPage], object]
    masks: bool = False
    source: str = ""


def _html(page: SessionPage) -> str:
    # jinja2 comes with an extra, and a session that writes no HTML does not load its half.
    from pytest_sopbench._reports.html.page import html_page  # noqa: PLC0415

    return html_page(page)


_IN_ORDER: Final = (
    PageFormat(name="md", render=markdown),
    PageFormat(name="csv", render=csv_runs, masks=True),
    PageFormat(name="json", render=json_document, masks=True),
    PageFormat(name="html", render=_html, masks=True),
)

FORMATS: Final[dict[str, PageFormat]] = {one.name: one for one in _IN_ORDER}
"""Every format of the plugin by its name; a new one is a module of its own and a row."""


def format_names() -> tuple[str, ...]:
    """Return the names of all formats, those of packages last; no package is imported.

    Raises:
        ExtensionError: a package has a name that is taken.
    """
    points = installed_formats()
    for point in points:
        if point.name in {*FORMATS, ANNOTATIONS}:
            msg = f"{source_of(point)}: the report format {point.name!r} is the plugin's own"
            raise ExtensionError(msg, hint="give the entry point another name")
    names = [point.name for point in points]
    for point in points:
        if names.count(point.name) > 1:
            msg = f"{source_of(point)}: two packages have a report format {point.name!r}"
            raise ExtensionError(msg, hint="uninstall one of them")
    return (*FORMATS, *names)


def find_format(name: str) -> PageFormat:
    """Return a format by its name, which `format_names` has.

    Raises:
        ExtensionError: that of a package cannot be imported, or cannot be called.
    """
    if name in FORMATS:
        return FORMATS[name]
    point = next(one for one in installed_formats() if one.name == name)
    render = loaded(point)
    if not callable(render):
        msg = f"{source_of(point)}: no function, but {type(render).__name__}"
        raise ExtensionError(msg, hint="name one that is given a SessionPage, and returns a text")
    return PageFormat(name=name, render=render, source=source_of(point))


def rendered(name: str, page: SessionPage, mask: Mask) -> str:
    """Return the whole text of a page, without what `mask` takes out of texts.

    Raises:
        ExtensionError: the format of a package fails.
    """
    found = find_format(name)
    with masking(mask):
        text = _text_of(found, page, mask)
    if found.source:
        # Nobody has looked at what a package writes, which may also stand on a terminal.
        text = harmless(text).encode("utf-8", "backslashreplace").decode().rstrip("\n") + "\n"
    return text if found.masks else mask(text)


def _text_of(found: PageFormat, page: SessionPage, mask: Mask) -> str:
    try:
        text = found.render(page)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        if not found.source:
            raise
        # Code of a package, which may also end the process.
        why = f"raised {type(fault).__name__}: {mask(' '.join(str(fault).split()))[:200]}"
        msg = f"{found.source}: the report format {found.name} {why}"
        raise ExtensionError(msg) from fault
    if not isinstance(text, str):
        msg = f"{found.source}: the report format {found.name} returned {type(text).__name__}"
        raise ExtensionError(msg, hint="it returns the text of the page")
    return text
