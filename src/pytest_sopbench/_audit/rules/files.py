"""Rules about the files of a folder, which may be one that cannot be loaded."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Final

from pytest_sopbench._audit.model import Finding, Place, error, warning
from pytest_sopbench._audit.reading import File, Folder
from pytest_sopbench._loading.load import DATA_FILES, SOP_FILES
from pytest_sopbench._loading.metadata import FILE_NAMES as METADATA_FILES
from pytest_sopbench._loading.tools import TOOL_SPECS_FILE as SPECS_FILE
from pytest_sopbench.errors import LoadingError

_NEEDED: Final = (
    (METADATA_FILES, "it says what the columns mean"),
    (SOP_FILES, "the procedure stands in one of them"),
    (DATA_FILES, "each row is one task"),
)
_MERGE: Final = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)
_TWICE_ENCODED: Final = re.compile("\ufffd|\u00e2\u20ac[\u0080-\uffff]|\u00c3[\u0080-\u00bf]")


@error("missing-file", "A file that every domain needs is not there.")
def _missing(folder: Folder) -> Iterator[Finding]:
    for names, why in _NEEDED:
        if not any((folder.path / name).exists() for name in names):
            yield Finding(place=Place(), what=f"has no {' and no '.join(names)}", do=why)
    tools = folder.metadata.get("tools") or "tools.py" in folder.files
    if tools and not (folder.path / SPECS_FILE).exists():
        do = "a model needs the name, description and argument schema of each tool"
        yield Finding(place=Place(), what=f"has tools and no {SPECS_FILE}", do=do)


@error("unparsable", "A file is empty, or is not the JSON, TOML or Python that its name says.")
def _unparsable(folder: Folder) -> Iterator[Finding]:
    for file in _readable(folder):
        problem = _problem(file)
        if problem is not None and not _has_merge_markers(file):
            yield Finding(
                place=Place(file=file.name, line=problem[0]),
                what=f"cannot be read: {problem[1]}",
                do="correct it by hand, or write it with a program",
            )


def _problem(file: File) -> tuple[int | None, str] | None:
    try:
        if file.name.endswith(".json"):
            json.loads(file.text)
        elif file.name.endswith(".toml"):
            tomllib.loads(file.text)
        elif file.name.endswith(".py"):
            compile(file.text, file.name, "exec", dont_inherit=True)
    except json.JSONDecodeError as fault:
        return fault.lineno, f"{fault.msg} at character {fault.colno}"
    except SyntaxError as fault:
        return fault.lineno, fault.msg
    except (ValueError, RecursionError, MemoryError) as fault:
        return None, str(fault) or type(fault).__name__
    return None if file.text.strip() else (None, "the file is empty")


@error("merge-conflict", "A file holds the marks of a merge that was not finished.")
def _merge_conflicts(folder: Folder) -> Iterator[Finding]:
    for file in folder.files.values():
        if _has_merge_markers(file):
            first = next(iter(_MERGE.finditer(file.text)))
            yield Finding(
                place=Place(file=file.name, line=_line(file.text, first.start())),
                what="holds the marks of a merge that was not finished",
                do="decide which of the two versions is right, and remove the marks",
            )


def _has_merge_markers(file: File) -> bool:
    # A line of equals signs alone underlines a heading of Markdown.
    found = {match[0][0] for match in _MERGE.finditer(file.text)}
    return bool(found & {"<", ">"})


@error("encoding", "A file cannot be opened, is not UTF-8, or holds a NUL character.")
def _encoding(folder: Folder) -> Iterator[Finding]:
    for file in folder.files.values():
        fault = file.unreadable
        if fault is not None:
            yield Finding(
                place=Place(file=file.name, line=fault.row), what=fault.problem, do=fault.hint
            )
        elif "\0" in file.text:
            yield Finding(
                place=Place(file=file.name, line=_line(file.text, file.text.index("\0"))),
                what="holds a NUL character",
                do="the file may be UTF-16, or not text at all; save it as UTF-8",
            )


@warning(
    "garbled-text", "A text was read in one encoding and written in another, such as `Ã©` for `é`."
)
def _twice_encoded(folder: Folder) -> Iterator[Finding]:
    for file in _readable(folder):
        found = _TWICE_ENCODED.search(file.text)
        if found is not None and not file.name.endswith(".py"):
            yield Finding(
                place=Place(file=file.name, line=_line(file.text, found.start())),
                what=f"holds {found[0]!r}, which is left of a letter that was read wrongly",
                do="write the text again from its source, as UTF-8",
            )


@error("does-not-load", "Loading refuses the folder; the finding says what loading says.")
def _does_not_load(folder: Folder) -> Iterator[Finding]:
    """What loading says, unless another rule has said it of the same file."""
    refused = folder.refused
    if refused is None or _said_better(folder, refused):
        return
    name = refused.path.name if refused.path != folder.path else ""
    column = refused.column or ""
    yield Finding(
        place=Place(file=name, line=refused.row, column=column),
        what=refused.problem,
        do=refused.hint,
    )


def _said_better(folder: Folder, refused: LoadingError) -> bool:
    name = refused.path.name
    if refused.path == folder.path:
        return any(True for _ in _missing.look(folder))
    rules = (_unparsable, _merge_conflicts, _encoding)
    return any(fault.place.file == name for one in rules for fault in one.look(folder))


def _readable(folder: Folder) -> Iterator[File]:
    return (file for file in folder.files.values() if file.unreadable is None)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
