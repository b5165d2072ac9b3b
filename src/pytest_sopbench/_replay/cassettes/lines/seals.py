"""A checksum over each recording, by which a reader tells that nobody changed it by hand.

It is a CRC-32 of the line about the trial and of the lines of its exchanges, each as `json` writes
what it holds: a change of line ends or of the space between keys and values is none. The order of
keys counts, as a reply is served in it. Shared texts are named by a hash of their content.
It finds what accidents and editors do. Whoever means to deceive can compute it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final
from zlib import crc32

CRC: Final = "crc"
"""The key of the line about a trial under which its checksum stands."""

CHANGED: Final = "changed since it was recorded, its checksum does not fit"

_dumps = json.JSONEncoder(separators=(",", ":")).encode


class Seal(Enum):
    """What the checksum of a recording says; earlier versions wrote none."""

    FITS = "fits"
    NONE = "none"
    BROKEN = "broken"


def checksum(told: Mapping[str, Any], lines: Iterable[bytes]) -> str:
    """Return the checksum of a trial, by what is told of it and the lines of its exchanges."""
    found = crc32(_dumps({key: told[key] for key in sorted(told) if key != CRC}).encode())
    for line in lines:
        found = crc32(b"\n" + line, found)
    return f"{found:08x}"


def seal_of(told: Mapping[str, Any], lines: Iterable[bytes]) -> Seal:
    """Compare the checksum of a trial with what stands there.

    Raises:
        ValueError: a line is no JSON.
    """
    if CRC not in told:
        return Seal.NONE
    found = [*lines]
    # As it was written, in nearly every file: then nothing is parsed.
    if told[CRC] == checksum(told, found):
        return Seal.FITS
    written = (_dumps(json.loads(line)).encode() for line in found)
    return Seal.FITS if told[CRC] == checksum(told, written) else Seal.BROKEN
