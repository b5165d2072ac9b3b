"""What may befall a file of lines: each damage changes a file in place, by a lot."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import random
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from builders.saved import bare, is_sealed, sealed, seed_of

Damage: TypeAlias = Callable[[Path, random.Random], None]
Lines: TypeAlias = Callable[[list[bytes], random.Random], Sequence[bytes]]
Bytes: TypeAlias = Callable[[bytes, random.Random], bytes]

RIGHT = b'"outcome":"correct"'
ODD: Sequence[Any] = (
    *(None, True, 1, -1, 0.5, 10**30, 1e308, float("inf")),
    *("", "x", "2", "\ud800", "\x00", [], [[]], {}, {"a": 1}, "correct", 10**400),
)


def on_bytes(change: Bytes) -> Damage:
    def damage(path: Path, lot: random.Random) -> None:
        path.write_bytes(change(path.read_bytes(), lot))

    return damage


def on_lines(change: Lines) -> Damage:
    """Change the lines of a file, which have no ends."""

    def damage(path: Path, lot: random.Random) -> None:
        lines = change(path.read_bytes().splitlines(), lot)
        path.write_bytes(b"".join(line + b"\n" for line in lines))

    return damage


def on_entry(change: Callable[[Any, random.Random], object], *, seal: bool, at: str) -> Damage:
    """Change what one line holds; its checksum is computed again, or stays that of before."""

    def edit(lines: list[bytes], lot: random.Random) -> Sequence[bytes]:
        places = [place for place, line in enumerate(lines) if at.encode() in line]
        place = lot.choice(places or [*range(len(lines))])
        entry = json.loads(bare(lines[place]) if is_sealed(lines[place]) else lines[place])
        change(entry, lot)
        text = json.dumps(entry, separators=(",", ":"))
        was_sealed = is_sealed(lines[place])
        if was_sealed and seal:
            lines[place] = sealed(text, 0 if place == 0 else _seed(lines))
        elif was_sealed:
            lines[place] = text.encode()[:-1] + lines[place][-len(',"crc":"00000000"}') :]
        else:
            lines[place] = text.encode()
        return lines

    return on_lines(edit)


def _seed(lines: Sequence[bytes]) -> int:
    """Return the seed of a session's lines; those of a journal have none."""
    first = json.loads(lines[0])
    return seed_of(first.get("identity", "")) if first.get("type") == "header" else 0


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys: Any = {dict: value, list: range(len(value)) if isinstance(value, list) else ()}
    for key in keys.get(type(value), ()):
        yield value, key
        yield from _places(value[key])


def make_odd(entry: Any, lot: random.Random) -> None:
    place, key = lot.choice([*_places(entry)])
    place[key] = lot.choice(ODD)


def make_correct(entry: Any, lot: random.Random) -> None:
    del lot
    entry["outcome"] = "correct"


def drop_key(entry: Any, lot: random.Random) -> None:
    del entry[lot.choice([*entry])]


def add_key(entry: Any, lot: random.Random) -> None:
    place = lot.choice([entry, *(one for one in entry.values() if isinstance(one, dict))])
    place[lot.choice(["later", "", "crc", "type", "planned"])] = lot.choice(ODD)


def nest(depth: int) -> Callable[[Any, random.Random], None]:
    def change(entry: Any, lot: random.Random) -> None:
        value: Any = 1
        for _ in range(depth):
            value = [value] if lot.random() < 0.5 else {"a": value}
        entry[lot.choice(["answer", "expected", "notes", "calls", "options"])] = value

    return change


def flipped(data: bytes, lot: random.Random) -> bytes:
    at = lot.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << lot.randrange(8))]) + data[at + 1 :]


def flipped_many(data: bytes, lot: random.Random) -> bytes:
    for _ in range(lot.randrange(2, 60)):
        data = flipped(data, lot)
    return data


def flipped_at_a_line_end(data: bytes, lot: random.Random) -> bytes:
    at = lot.choice([place for place, byte in enumerate(data) if byte == 10])
    return data[:at] + bytes([10 ^ (1 << lot.randrange(8))]) + data[at + 1 :]


def cut(data: bytes, lot: random.Random) -> bytes:
    return data[: lot.randrange(len(data))]


def cut_in_header(data: bytes, lot: random.Random) -> bytes:
    return data[: lot.randrange(data.index(b"\n") + 1)]


def cut_at_a_line_end(data: bytes, lot: random.Random) -> bytes:
    ends = [place for place, byte in enumerate(data) if byte == 10]
    return data[: lot.choice(ends) + lot.randrange(-1, 2)]


def cut_in_a_checksum(data: bytes, lot: random.Random) -> bytes:
    places = [at for at in range(len(data)) if data.startswith(b',"crc"', at)]
    return data[: lot.choice(places or [len(data) // 2]) + lot.randrange(18)]


def cut_out(data: bytes, lot: random.Random) -> bytes:
    """Lose a block in the middle, as a disk does."""
    start = lot.randrange(len(data))
    return data[:start] + data[start + lot.choice([1, 7, 64, 512, 4096]) :]


def zeroed(data: bytes, lot: random.Random) -> bytes:
    start, size = lot.randrange(len(data)), lot.choice([1, 16, 512, 4096])
    return data[:start] + bytes(min(size, len(data) - start)) + data[start + size :]


def moved(data: bytes, lot: random.Random) -> bytes:
    """Have a block stand where another was."""
    one, other = sorted(lot.sample(range(len(data)), 2))
    return data[:one] + data[other:] + data[one:other]


def doubled(lines: list[bytes], lot: random.Random) -> Sequence[bytes]:
    at = lot.randrange(len(lines))
    return [*lines[: at + 1], *[lines[at]] * lot.choice([1, 1, 5]), *lines[at + 1 :]]


def swapped(lines: list[bytes], lot: random.Random) -> Sequence[bytes]:
    one, other = lot.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other], lines[one]
    return lines


def shuffled(lines: list[bytes], lot: random.Random) -> Sequence[bytes]:
    below = lines[1:]
    lot.shuffle(below)
    return [lines[0], *below]


def deleted(lines: list[bytes], lot: random.Random) -> Sequence[bytes]:
    gone = {*lot.sample(range(len(lines)), lot.randrange(1, len(lines)))}
    return [line for at, line in enumerate(lines) if at not in gone]


def without(kind: str) -> Damage:
    return on_lines(
        lambda lines, _: [one for one in lines if f'"type":"{kind}"'.encode() not in one]
    )


def unsealed(lines: list[bytes], lot: random.Random) -> Sequence[bytes]:
    """Turn a failure into a success, and leave no checksum that could tell."""
    bad = [
        at
        for at, line in enumerate(lines)
        if b'"outcome":"correct"' not in line and b'"run"' in line
    ]
    at = lot.choice(bad or [*range(len(lines))])
    lines[at] = bare(lines[at]) if is_sealed(lines[at]) else lines[at]
    for outcome in (b"wrong", b"error"):
        lines[at] = lines[at].replace(b'"outcome":"%b"' % outcome, RIGHT)
    return lines


def with_schema(value: object) -> Damage:
    def change(lines: list[bytes], lot: random.Random) -> Sequence[bytes]:
        entry = json.loads(bare(lines[0]) if is_sealed(lines[0]) else lines[0])
        entry["schema"] = value
        return [sealed(json.dumps(entry, separators=(",", ":"))), *lines[1:]]

    return on_lines(change)


def indented(data: bytes, lot: random.Random) -> bytes:
    """Write each line anew, as an editor or a formatter does."""
    step = lot.choice([None, 1])
    return b"".join(
        json.dumps(json.loads(one), indent=step).encode() + b"\n" for one in data.splitlines()
    )


def encoded(name: str) -> Damage:
    return on_bytes(lambda data, _: data.decode("ascii").encode(name))


def with_bytes(extra: bytes) -> Damage:
    def change(data: bytes, lot: random.Random) -> bytes:
        at = lot.randrange(len(data) + 1)
        return data[:at] + extra + data[at:]

    return on_bytes(change)


def in_place(make: Callable[[Path], object]) -> Damage:
    """Put something that is no file of lines where the file was."""

    def damage(path: Path, lot: random.Random) -> None:
        del lot
        path.unlink()
        make(path)

    return damage


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("last.jsonl", "{}")


ANYWHERE: dict[str, Damage] = {
    "a flipped bit": on_bytes(flipped),
    "many flipped bits": on_bytes(flipped_many),
    "a flipped line end": on_bytes(flipped_at_a_line_end),
    "cut anywhere": on_bytes(cut),
    "cut in the first line": on_bytes(cut_in_header),
    "cut at a line end": on_bytes(cut_at_a_line_end),
    "cut in a checksum": on_bytes(cut_in_a_checksum),
    "a lost block": on_bytes(cut_out),
    "a block of zeros": on_bytes(zeroed),
    "a block that moved": on_bytes(moved),
    "doubled lines": on_lines(doubled),
    "swapped lines": on_lines(swapped),
    "shuffled lines": on_lines(shuffled),
    "deleted lines": on_lines(deleted),
    "a value edited": on_entry(make_odd, seal=False, at=""),
    "an outcome edited": on_entry(make_correct, seal=False, at='"type":"run"'),
    "an outcome edited, no checksum": on_lines(unsealed),
    "a key dropped": on_entry(drop_key, seal=False, at=""),
    "written anew": on_bytes(indented),
}
"""Accidents, and what is edited by hand: nothing of it may make a session look better."""

SEALED: dict[str, Damage] = {
    "a wrong type": on_entry(make_odd, seal=True, at=""),
    "a wrong type in a run": on_entry(make_odd, seal=True, at='"type":"run"'),
    "a wrong type in the first line": on_entry(make_odd, seal=True, at='"type":"header"'),
    "a wrong type in the last line": on_entry(make_odd, seal=True, at='"type":"summary"'),
    "a wrong type in a trace": on_entry(make_odd, seal=True, at='"type":"trace"'),
    "a key that lacks": on_entry(drop_key, seal=True, at=""),
    "a key that nobody knows": on_entry(add_key, seal=True, at=""),
    "deep nesting": on_entry(nest(60), seal=True, at='"type":"run"'),
    "deeper nesting": on_entry(nest(700), seal=True, at='"type":"run"'),
}
"""What another program may write, with right checksums: it may say anything, and break nothing."""

ONCE: dict[str, Damage] = {
    "no first line": without("header"),
    "no runs": without("run"),
    "no last line": without("summary"),
    "CRLF": on_bytes(lambda data, _: data.replace(b"\n", b"\r\n")),
    "CR": on_bytes(lambda data, _: data.replace(b"\n", b"\r")),
    "no line ends": on_bytes(lambda data, _: data.replace(b"\n", b"")),
    "blank lines": on_bytes(lambda data, _: data.replace(b"\n", b"\n\n")),
    "blanks at line ends": on_bytes(lambda data, _: data.replace(b"\n", b" \n")),
    "UTF-8 BOM": on_bytes(lambda data, _: b"\xef\xbb\xbf" + data),
    "UTF-16": encoded("utf-16"),
    "UTF-32": encoded("utf-32-le"),
    "EBCDIC": encoded("cp500"),
    "Latin-1": with_bytes(b"\xe9"),
    "UTF-8": with_bytes("é\u2028".encode()),
    "a NUL": with_bytes(b"\0"),
    "zeros at the end": on_bytes(lambda data, _: data + bytes(4096)),
    "zeros at the start": on_bytes(lambda data, _: bytes(4096) + data),
    "zeros alone": on_bytes(lambda data, _: bytes(len(data))),
    "a long line": on_bytes(
        lambda data, _: data + b'{"type":"run","x":"' + b"x" * 3_000_000 + b"\n"
    ),
    "brackets": on_bytes(lambda data, _: data + b"[" * 200_000 + b"\n"),
    "brackets alone": on_bytes(lambda *_: b"[" * 200_000),
    "objects in objects": on_bytes(lambda *_: b'{"type":' * 100_000),
    "a huge number": on_bytes(
        lambda data, _: data + b'{"type":"run","trial":' + b"9" * 9_000 + b"}\n"
    ),
    "itself twice": on_bytes(lambda data, _: data + data),
    "itself without an end, and again": on_bytes(lambda data, _: data[:-1] + data),
    "gzip": on_bytes(lambda data, _: gzip.compress(data)),
    "zip": in_place(_zip),
    "a pickle": on_bytes(lambda data, _: pickle.dumps(data)),
    "a web page": on_bytes(lambda *_: b"<!DOCTYPE html><title>404</title>\n"),
    "a list": on_bytes(lambda data, _: b"[" + b",".join(data.splitlines()) + b"]\n"),
    "a merge conflict": on_bytes(
        lambda data, _: b"<<<<<<< HEAD\n" + data + b"=======\n" + data + b">>>>>>> main\n"
    ),
    "noise": on_bytes(lambda data, lot: lot.randbytes(len(data))),
    "noise behind": on_bytes(lambda data, lot: data + lot.randbytes(999)),
    "empty": on_bytes(lambda *_: b""),
    "a line end": on_bytes(lambda *_: b"\n"),
    "a lone brace": on_bytes(lambda *_: b"{\n"),
    "null": on_bytes(lambda *_: b"null\n"),
    "of the first version": with_schema(1),
    "of a later version": with_schema(99),
    "of version 0": with_schema(0),
    "of version -1": with_schema(-1),
    "of version true": with_schema(value=True),
    "of version 2.0": with_schema(2.0),
    "of version null": with_schema(None),
    "of a huge version": with_schema(10**40),
    "nothing": in_place(Path.exists),
    "a folder": in_place(lambda path: path.mkdir()),
    "a link to nothing": in_place(lambda path: path.symlink_to("gone.jsonl")),
    "a link to itself": in_place(lambda path: path.symlink_to(path.name)),
    "a link to a folder": in_place(lambda path: path.symlink_to(".")),
    "a pipe": in_place(os.mkfifo),
    "an endless device": in_place(lambda path: path.symlink_to("/dev/zero")),
    "an empty device": in_place(lambda path: path.symlink_to("/dev/null")),
}
"""What one try is enough for."""
