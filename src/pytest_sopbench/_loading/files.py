"""Read a text, JSON or TOML file, or say in which line it cannot be read, and what may be meant."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path

from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.values.json import STRICT, JsonValue, RefusedError
from pytest_sopbench._core.values.text import fold
from pytest_sopbench.errors import LoadingError, RowError

_LINE_END = re.compile(rb"\r\n|\r|\n")
_SURROGATE = re.compile("[\ud800-\udfff]")


DEPTH_LIMIT = 100
"""Containers inside one another; what lies deeper no tool could hand over whole."""

_NEEDED = {
    "metadata.json": 'it needs "name", "input_columns" and "output_columns"',
    "toolspecs.json": "write [] if the agent has no tools, or remove the file",
}
"""What to do about an empty file, by its name."""

_TOO_DEEP = f"not readable: more than {DEPTH_LIMIT} lists or objects inside one another"


def read_text(path: Path, newline: str | None = None) -> str:
    """The text of a file without a byte order mark, and with one kind of line end.

    Args:
        path: the file.
        newline: as `open` has it; empty leaves the ends of lines as they are.

    Raises:
        LoadingError: the file cannot be opened, is no regular one, or is not UTF-8.
    """
    refuse_endless(path)
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as stream:
            return stream.read()
    except OSError as fault:
        raise unreadable(path, fault) from fault
    except UnicodeDecodeError as fault:
        raise _not_utf8(path) from fault


def is_a_file(path: Path) -> bool:
    """Whether there is a file of this name.

    Raises:
        LoadingError: there is something else, which would be passed over in silence.
    """
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "no regular file"
        raise LoadingError(path, f"is {what}, and must be a file", hint="remove or rename it")
    return path.is_file()


def lies_inside(folder: Path, path: Path) -> bool:
    """Whether a file of a domain is in its folder, wherever the links on its way lead.

    What a domain names is sent to models: a link may lead to anything that its user can read.
    """
    return path.resolve().is_relative_to(folder.resolve())


def refuse_links_out(folder: Path, names: Iterable[str]) -> None:
    """Refuse files of a domain that are links to others, outside of its folder.

    Raises:
        LoadingError: for the first of them.
    """
    for path in (folder / name for name in names):
        # Not `Path.exists`, which raises if the folder may not be looked into.
        if os.path.lexists(path) and not lies_inside(folder, path):
            raise LoadingError(
                path,
                "is a link that leads out of the domain's folder",
                hint="put the file itself into the folder",
            )


def refuse_endless(path: Path) -> None:
    """Refuse to read a pipe or a device, of which nobody knows whether it ends.

    Raises:
        LoadingError: it is one. A folder is refused when it is opened.
    """
    try:
        if not path.is_dir():
            is_a_file(path)
    except OSError as fault:
        # A disk refuses a name that is too long also by a mere look.
        raise unreadable(path, fault) from fault


def unreadable(path: Path, fault: OSError) -> LoadingError:
    """The error for a file that the system does not let us read."""
    return LoadingError(path, f"cannot be read: {fault.strerror or fault}")


def _not_utf8(path: Path) -> LoadingError:
    """The error for a file that is not UTF-8, with the line of its first wrong byte."""
    data = path.read_bytes()
    start = 0
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        start = fault.start
    line = len(_LINE_END.findall(data[:start])) + 1
    return LoadingError(
        path,
        f"byte 0x{data[start]:02X} is not UTF-8",
        row=line,
        hint="save the file as UTF-8 (Excel calls it 'CSV UTF-8')",
    )


def read_json(path: Path) -> JsonValue:
    """The value of a JSON file.

    Raises:
        LoadingError: as `read_text`, or not one JSON document; carries the line.
    """
    text = read_text(path)
    if not text.strip():
        raise LoadingError(path, "the file is empty", hint=_NEEDED.get(path.name, ""))
    return parse_json(text, path)


def parse_json(text: str, path: Path, *, line: int | None = None) -> JsonValue:
    """The value of a JSON text, which stands in this line of the file, or is all of it.

    Raises:
        LoadingError: not JSON, a key twice in one object, NaN, an infinite number, half a
            surrogate pair, or nested too deeply to be read. `RowError` if a line is given.
    """
    kind = LoadingError if line is None else RowError
    try:
        value: JsonValue = STRICT.decode(text)
    except json.JSONDecodeError as fault:
        row = fault.lineno if line is None else line
        hint = "" if line is None else "each line is one JSON object"
        if fault.msg == "Extra data":
            rest = fault.doc[fault.pos : fault.pos + 20].split("\n")[0]
            hint = f"remove what follows: {rest!r}"
        raise kind(path, _what(fault), row=row, hint=hint) from fault
    except RefusedError as fault:
        raise kind(path, str(fault), row=line) from fault
    except RecursionError as fault:
        raise kind(path, _TOO_DEEP, row=line) from fault
    except ValueError as fault:
        # Python refuses to read integers of more than 4,300 digits.
        raise kind(path, f"not readable: {fault}", row=line) from fault
    if is_too_deep(text, value):
        raise kind(path, _TOO_DEEP, row=line)
    if "\\ud" in text.lower() and (
        _SURROGATE.search(json.dumps(value, ensure_ascii=False)) is not None
    ):
        raise kind(
            path,
            "holds half of a surrogate pair (\\ud800 to \\udfff), which is no character",
            row=line,
        )
    return value


def read_json_lines(path: Path) -> Iterator[tuple[int, JsonValue]]:
    """Yield the value of each line that is not blank, with the number of the line.

    Raises:
        LoadingError: as `read_text`.
        RowError: a line is not JSON; see `parse_json`.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield number, parse_json(line, path, line=number)


def is_too_deep(text: str, value: JsonValue) -> bool:
    """Whether a value, read from this text, has more containers in one another than we take."""
    # The text of nearly every value has too few brackets to ask further.
    if text.count("[") + text.count("{") <= DEPTH_LIMIT:
        return False
    level: list[JsonValue] = [value]
    for _ in range(DEPTH_LIMIT):
        level = [inner for one in level for inner in _inside(one)]
    return any(isinstance(one, Mapping | list) for one in level)


def read_toml(path: Path) -> Mapping[str, object]:
    """The table of a TOML file.

    Raises:
        LoadingError: as `read_text`, or not TOML; the message has line and column.
    """
    try:
        return tomllib.loads(read_text(path))
    except RecursionError as fault:
        raise LoadingError(path, _TOO_DEEP) from fault
    except ValueError as fault:
        # Also what Python says of integers of more than 4,300 digits.
        raise LoadingError(path, f"not TOML: {fault}") from fault


def _what(fault: json.JSONDecodeError) -> str:
    if fault.msg == "Extra data":
        return f"not JSON: the document has ended before character {fault.colno} of this line"
    problem = fault.msg[:1].lower() + fault.msg[1:].removesuffix(" at")
    return f"not JSON: {problem} at character {fault.colno}"


def _inside(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


# Hashes of content, which survive a reformatting of the file that holds it.

LENGTH = 16
"""Hexadecimal digits that are kept: two different contents in 2**64 meet."""


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: JsonValue) -> str:
    """One spelling of a JSON value: keys sorted, no white space, ASCII."""
    return _ENCODER.encode(value)


def digest(value: JsonValue) -> str:
    """The hash of a JSON value."""
    return sha256(canonical(value).encode("ascii")).hexdigest()[:LENGTH]


def text_digest(text: str) -> str:
    """The hash of a text, in which white space at the end of lines does not count."""
    return digest("\n".join(line.rstrip() for line in text.strip().splitlines()))


def unordered_digest(values: Iterable[JsonValue]) -> str:
    """The hash of many values in any order."""
    every = sorted(sha256(canonical(value).encode("ascii")).digest() for value in values)
    return sha256(b"".join(every)).hexdigest()[:LENGTH]


# Which known name a wrong one may have meant.

SHOWN = 12
"""How many names a message lists before it stops."""

SHOWN_LENGTH = 60
"""Characters of a value that a message shows."""

CUT_LENGTH = 200
"""Characters of somebody else's words that a message repeats."""

COMPARED = 1_000
"""Known names that a wrong one is compared with; among more of them a guess says little."""

COMPARED_LENGTH = 100
"""Characters from which on a name is none that somebody misspelled."""


def first_twice(names: Iterable[str]) -> str | None:
    """The first name that stands a second time."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one, or an empty string."""
    return next(iter(nearest_few(name, known)), "")


def nearest_few(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that are like this one, the nearest first."""
    if len(name) > COMPARED_LENGTH:
        return []
    short = [one for one in known if len(one) <= COMPARED_LENGTH]
    # A blank too many is what nobody sees.
    alike = [one for one in short if fold(one) == fold(name)]
    return alike or difflib.get_close_matches(name, islice(short, COMPARED), n=3, cutoff=0.6)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known name, or an empty string."""
    close = nearest(name, known)
    return f"did you mean {close!r}?" if close else ""


def listed(names: Iterable[str]) -> str:
    """The names with commas between them; a long list is cut, and says by how many."""
    every = list(names)
    shown = ", ".join(cut(name) for name in every[:SHOWN])
    return f"{shown} and {len(every) - SHOWN} more" if len(every) > SHOWN else shown


def shown(value: object) -> str:
    """The `repr` of a value, cut if it is long."""
    text = ready_to_cut(repr(value))
    return text if len(text) <= SHOWN_LENGTH else f"{text[: SHOWN_LENGTH - 3]}..."


def cut(text: str) -> str:
    """The text, without its middle if it is long."""
    if len(text) <= CUT_LENGTH:
        return text
    text = ready_to_cut(text)
    return f"{text[: CUT_LENGTH // 2]} ... {text[-CUT_LENGTH // 2 :]}"
