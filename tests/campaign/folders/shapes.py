"""Files whose bytes are no text, or whose text is not what their name says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from campaign.folders.breakage import Breakage, replaced, sound

Change = Callable[[bytes, Random], bytes]

FILES = ("sop.md", "metadata.json", "toolspecs.json", "data.csv")


def _changed(file: str, change: Change) -> Callable[[Path, Random], None]:
    def apply(folder: Path, random: Random) -> None:
        path = folder / file
        path.write_bytes(change(path.read_bytes(), random))

    return apply


def _utf16(data: bytes, _random: Random) -> bytes:
    return data.decode().encode("utf-16")


def _wrong_byte(data: bytes, random: Random) -> bytes:
    place = random.randrange(len(data))
    return data[:place] + bytes([random.choice((0xFF, 0xFE, 0xC0, 0xF8))]) + data[place:]


def _merge(data: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    place = random.randrange(len(lines))
    mine, other = lines[place], lines[place]
    marked = [b"<<<<<<< HEAD\n", mine, b"=======\n", other, b">>>>>>> theirs\n"]
    return b"".join([*lines[:place], *marked, *lines[place + 1 :]])


def _half(data: bytes, random: Random) -> bytes:
    # At least a brace of JSON is missing then.
    return data[: random.randrange(1, len(data) - 2)]


def _random_bytes(_data: bytes, random: Random) -> bytes:
    # The first byte never begins a character of UTF-8.
    return b"\xff" + random.randbytes(4_096)


def _gzip(_data: bytes, _random: Random) -> bytes:
    return bytes.fromhex("1f8b0800000000000003") + b"\xcb\x48\xcd\xc9\xc9\x07\x00"


def _mark(data: bytes, _random: Random) -> bytes:
    return b"\xef\xbb\xbf" + data


def _carriage(data: bytes, _random: Random) -> bytes:
    return data.replace(b"\n", b"\r\n")


BYTES: dict[str, Change] = {
    "in UTF-16": _utf16,
    "with a byte that is not UTF-8": _wrong_byte,
    "of random bytes": _random_bytes,
    "compressed": _gzip,
}
"""What breaks each file."""

DOCUMENTS: dict[str, Change] = {"with marks of a merge": _merge, "cut off": _half}
"""What breaks a file of JSON."""

HARMLESS: dict[str, Change] = {
    "with a byte order mark": _mark,
    "with the line ends of Windows": _carriage,
}

DEEP = "[" * 100_000 + "]" * 100_000
HUGE = "9" * 5_000

CONTENTS: dict[str, tuple[str, ...]] = {
    "empty": ("",),
    "blank": (" \n\t\n",),
    "nested 100,000 times": (DEEP,),
    "a text": ('"text"',),
    "a number": ("17",),
    "a number of 5,000 digits": (HUGE,),
    "a number beyond all": ("1e999",),
    "null": ("null",),
    "NaN": ("NaN",),
    "HTML of a login page": ("<!doctype html><title>Sign in</title>",),
    "a pointer of Git LFS": ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n",),
    "JSON with comments": ('// mine\n{"name": "lab"}',),
    "JSON with a comma too many": ('{"name": "lab",}',),
    "JSON with single quotes": ("{'name': 'lab'}",),
    "two documents": ("{}\n{}",),
    "half a surrogate pair": ('{"name": "\\ud800"}',),
    "a key twice": ('{"name": "lab", "name": "other"}',),
    "NUL": ("\0",),
}


def _documents() -> list[Breakage]:
    return [
        replaced(f"{file} is {kind}", file, content[0])
        for file in ("metadata.json", "toolspecs.json")
        for kind, content in CONTENTS.items()
    ]


BREAKAGES: list[Breakage] = [
    *(
        Breakage(name=f"{file} {kind}", apply=_changed(file, change), says=(file,))
        for file in FILES
        for kind, change in BYTES.items()
    ),
    *(
        Breakage(name=f"{file} {kind}", apply=_changed(file, change), says=(file, "row "))
        for file in ("metadata.json", "toolspecs.json")
        for kind, change in DOCUMENTS.items()
    ),
    Breakage(
        name="data.csv with marks of a merge",
        apply=_changed("data.csv", _merge),
        says=("data.csv", "row "),
    ),
    *(
        sound(f"{file} {kind}", _changed(file, change))
        for file in FILES
        for kind, change in HARMLESS.items()
    ),
    replaced("sop.md is empty", "sop.md", ""),
    replaced("sop.md is blank", "sop.md", " \n\n"),
    *_documents(),
]
