"""Single lines of a session."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn
from zlib import crc32

from pydantic_core import SchemaValidator, from_json
from pydantic_core import core_schema as cs

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.record import COUNT, KEY, OBJECT, TEXT, typed, value_of, word
from pytest_sopbench._core.values.text import first_of
from pytest_sopbench._core.verdict import Outcome

# A short checksum at the end of each line, by which a reader tells that nothing changed it.
#
# It is a CRC-32 of the line before it, begun with the identity of the session, so that a line of
# another session does not pass for one of this. It finds what accidents do: a flipped bit, a block
# that a disk lost, a value that was edited by hand. Whoever means to deceive can compute it.

_MARK: Final = b',"crc":"'
_LENGTH: Final = len(b',"crc":"00000000"}')


def seed_of(identity: str) -> int:
    """Return what the checksums of a session begin with."""
    # A file of another program may hold half of a surrogate pair.
    return crc32(identity.encode("utf-8", "surrogatepass"))


def sealed(line: str, seed: int = 0) -> bytes:
    """Return a line of JSON, an object with a member at least, with its checksum as last member."""
    data = line.encode()[:-1]
    return b'%b,"crc":"%08x"}' % (data, crc32(data, seed))


def is_sealed(line: bytes) -> bool:
    """Tell whether a line, given without its end, carries a checksum."""
    return line[-_LENGTH:].startswith(_MARK) and line.endswith(b'"}')


def is_intact(line: bytes, seed: int = 0) -> bool:
    """Tell whether a line, given without its end, carries the checksum of what it holds."""
    return line[-_LENGTH:] == b',"crc":"%08x"}' % crc32(line[:-_LENGTH], seed)


def bare(line: bytes) -> bytes:
    """Return a line that `sealed` made as it was before."""
    return line[:-_LENGTH] + b"}"


# Lines of a saved session that are not what was written, and what is said of them.

SHOWN: Final = 10
"""How many damaged lines are named; a file may have as many as it has lines."""

CHANGED: Final = "its checksum is of another content, or of another session"
UNSEALED: Final = "it has no checksum"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedLine:
    """A line that says nothing any more; `run` is whose it seems to have been, if that shows."""

    number: int
    why: str
    run: RunKey | None = None


def damage_lines(path: Path, damaged: Sequence[DamagedLine]) -> Iterator[str]:
    """Yield a sentence for each of the first damaged lines, and count the others."""
    for one in damaged[:SHOWN]:
        of = f" (the run of {run_name(one.run)})" if one.run is not None else ""
        yield f"{path}, line {one.number}: damaged, and left out{of}: {one.why}"
    if len(damaged) > SHOWN:
        yield f"{path}: {len(damaged) - SHOWN} more lines are damaged, and left out"


def run_name(key: RunKey) -> str:
    """Name a run as users do: `refunds/T1`, with its trial if that is not the first."""
    trial = f" (trial {key.trial})" if key.trial > 1 else ""
    return f"{key.domain}/{key.task}{trial}"


def some_runs(keys: Sequence[RunKey]) -> str:
    """Name the first of some runs, and count the others."""
    return first_of(map(run_name, keys), 3)


# A line of JSON, read as fast as it can be.


def read_json(line: bytes) -> object:
    """Read a line of JSON: by the parser of pydantic, which takes half the time, if it can.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError:
        # It refuses what json takes, such as half of a surrogate pair; the reason is json's.
        return json.loads(line, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    # Python's own extension of JSON, which no session is ever written with.
    msg = f"{constant} is no JSON"
    raise ValueError(msg)


# What lines of a session or a journal must hold where they are read, by the type of each value.
#
# What runs hold is described where they are read: `_core/records/record.py`.
#
# A line without a checksum may hold anything, and so may one that another program has sealed. A
# number in the place of a name would end a command far from here, and say nothing of the file.

_TEXTS: Final = cs.list_schema(TEXT, strict=True)


def by_name(schema: cs.CoreSchema) -> cs.CoreSchema:
    """Return the shape of an object whose values, under any name, have this one."""
    return cs.dict_schema(TEXT, schema, strict=True)


_COUNTED: Final = {"runs": COUNT, "outcomes": cs.dict_schema(word(Outcome), COUNT), "reruns": COUNT}
_SHAPES: Final = {
    "slim": SchemaValidator(
        typed({**KEY, "task_hash": TEXT, "outcome": word(Outcome), "calls": _TEXTS})
    ),
    "start": SchemaValidator(typed(KEY)),
    "trace": SchemaValidator(typed({**KEY, "trace": cs.list_schema(OBJECT, strict=True)})),
    "events": SchemaValidator(typed({**KEY, "events": TEXT})),
    "summary": SchemaValidator(typed({"domains": by_name(typed(_COUNTED))})),
}
"""What is read of lines that are not read as a value of a class."""


def read_line(kind: object, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is read of a line of a kind; one of no known kind is for those who read it.

    Raises:
        ValueError: a key is missing, or a value is of another type than it should be.
    """
    shape = _SHAPES.get(kind) if isinstance(kind, str) else None
    return data if shape is None else value_of(shape, data, f"a line {kind!r}")
