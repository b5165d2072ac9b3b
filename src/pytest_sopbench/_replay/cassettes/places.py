"""Where a cassette lies: `AGENT/DOMAIN/TASK.jsonl`, with names that are safe on every disk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

SUFFIX: Final = ".jsonl"
SHARED: Final = "shared"
_SAFE: Final = "-_."
_LONGEST: Final = 80
"""Characters of a name; a longer one ends in a hash."""

_RESERVED: Final = frozenset(
    ("con", "prn", "aux", "nul", *(f"{one}{n}" for one in ("com", "lpt") for n in range(1, 10)))
)
"""Names that Windows keeps for devices, whatever follows behind a dot."""


class TaskPlace(NamedTuple):
    """Of which agent, domain and task a cassette is."""

    agent: str
    domain: str
    task: str


def cassette_path(root: Path, place: TaskPlace) -> Path:
    """Return where the cassette of a task lies, always under `root`."""
    folder = domain_folder(root, place)
    return folder / f"{safe_name(place.task)}{SUFFIX}"


def domain_folder(root: Path, place: TaskPlace) -> Path:
    """Return the folder of all cassettes of an agent and a domain."""
    return root / safe_name(place.agent) / safe_name(place.domain)


def safe_name(text: str) -> str:
    """Return a name for a file or a folder that is safe on every disk, and of this text alone."""
    name = quote(text, safe=_SAFE, errors="surrogatepass") or "%"
    if name.startswith(".") or name.endswith("."):
        name = name.replace(".", "%2E")
    if name.partition(".")[0].lower() in _RESERVED:
        name = f"%{ord(name[0]):02X}{name[1:]}"
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}~{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def cassettes_under(root: Path) -> Iterator[Path]:
    """Yield every cassette, in order."""
    yield from sorted(root.glob(f"*/*/*{SUFFIX}"))


def shown_name(name: str) -> str:
    """Return what a name was made of, as far as it tells."""
    return unquote(name.removesuffix(SUFFIX))
