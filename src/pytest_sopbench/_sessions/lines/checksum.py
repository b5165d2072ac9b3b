"""A short checksum at the end of each line, by which a reader tells that nothing changed it.

It is a CRC-32 of the line before it, begun with the identity of the session, so that a line of
another session does not pass for one of this. It finds what accidents do: a flipped bit, a block
that a disk lost, a value that was edited by hand. Whoever means to deceive can compute it.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final
from zlib import crc32

_MARK: Final = b',"crc":"'
_LENGTH: Final = len(b',"crc":"00000000"}')


def seed_of(identity: str) -> int:
    """Return what the checksums of a session begin with."""
    return crc32(identity.encode())


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


def seal_of(line: bytes) -> bytes:
    """Return the end of a sealed line, which is its checksum."""
    return line[-_LENGTH:]


def bare(line: bytes) -> bytes:
    """Return a line that `sealed` made as it was before."""
    return line[:-_LENGTH] + b"}"


def identity_from(parts: Iterable[str]) -> str:
    """Return the identity of a session that was made of others: the same for the same parts."""
    return sha256("\n".join(parts).encode()).hexdigest()[:16]
