"""What the options say of recorded model traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from pytest_sopbench._settings import readers

from .hidden import compiled
from .refusing import refusing

if TYPE_CHECKING:
    from pytest_sopbench._core.values.patterns import Pattern
    from pytest_sopbench._replay.tape.exchange import JsonPath
    from pytest_sopbench._replay.tape.run_tape import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Whether traffic is recorded or replayed, and how.

    Attributes:
        mode: as `--sop-replay` has it.
        folder: where the cassettes are.
        ignored: paths of requests that need not agree.
        hosts: hosts whose traffic is left alone.
        changing: patterns of what changes with every run inside of texts.
        max_age: days after which a recording is too old; `None` where none is.
    """

    mode: Literal["off"] | Mode
    folder: Path
    ignored: tuple[JsonPath, ...] = ()
    hosts: tuple[str, ...] = ()
    changing: tuple[Pattern, ...] = ()
    max_age: int | None = None

    @property
    def is_on(self) -> bool:
        return self.mode != "off"

    @property
    def serves(self) -> bool:
        """Whether recordings are read."""
        return self.mode in {"only", "auto"}


def replay_of(
    mode: str,
    folder: Path,
    ignored: tuple[str, ...],
    max_age: int | None,
) -> Replay:
    """Check what was set.

    Raises:
        pytest.UsageError: a path of JSON, a host or a pattern means nothing.
    """
    with refusing("sop_replay_ignore", ": "):
        read = readers.read_ignored(ignored)
        paths = _read_paths(read.paths)
    return Replay(
        mode=cast("Literal['off', 'record', 'only', 'auto']", mode),
        folder=folder,
        ignored=paths,
        hosts=read.hosts,
        changing=tuple(compiled("sop_replay_ignore", one) for one in read.patterns),
        max_age=max_age,
    )


def _read_paths(texts: Sequence[str]) -> tuple[JsonPath, ...]:
    if not texts:
        return ()
    from pytest_sopbench._replay.tape.exchange import read_path  # noqa: PLC0415 - only where traffic is replayed

    return tuple(map(read_path, texts))
