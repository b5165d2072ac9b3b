"""One way to break a domain folder, and what must be said of it."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from builders.lab import lab_metadata

Verdict = Literal["refused", "fails", "sound"]
Listed = Literal["broken", "usable", "absent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """What is done to a sound folder, and what the plugin owes its user then.

    Args:
        name: says what is broken.
        apply: breaks the folder; the random numbers come from the seed of the campaign.
        says: texts that the error must hold, such as the file, the row and the column.
        verdict: `refused` before a run, `fails` in its runs, or `sound` after all.
        listed: what `sopbench list` makes of it, which runs no code of a domain.
        args: further options of the session.
        unprivileged: permissions must hold, also for root.
    """

    name: str
    apply: Callable[[Path, Random], None]
    says: tuple[str, ...] = ()
    verdict: Verdict = "refused"
    listed: Listed = "broken"
    args: tuple[str, ...] = ()
    unprivileged: bool = False


def sound(name: str, apply: Callable[[Path, Random], None]) -> Breakage:
    """A folder that looks odd and can be used."""
    return Breakage(name=name, apply=apply, verdict="sound", listed="usable")


def write(file: str, content: str | bytes) -> Callable[[Path, Random], None]:
    """Put a file there, in place of one that may be there."""

    def apply(folder: Path, _random: Random) -> None:
        clear(folder / file)
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        (folder / file).write_bytes(data)

    return apply


def replaced(name: str, file: str, content: str | bytes, *says: str) -> Breakage:
    """A file whose content is another; the error names the file and what else is given."""
    return Breakage(name=name, apply=write(file, content), says=(file, *says))


def clear(path: Path) -> None:
    """Remove what is there, whatever it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class Drop:
    """The value of a key that is taken away."""


def keys(**changes: Any) -> Callable[[Path, Random], None]:
    """Change keys of the metadata."""

    def apply(folder: Path, _random: Random) -> None:
        path = folder / "metadata.json"
        path.write_text(json.dumps(metadata(**changes)), encoding="utf-8")

    return apply


def metadata(**changes: Any) -> dict[str, Any]:
    """The metadata of the sound folder with some keys changed."""
    both = copy.deepcopy(lab_metadata()) | changes
    return {key: value for key, value in both.items() if value is not Drop}


def described(label: str, /, *says: str, **changes: Any) -> Breakage:
    """A folder whose metadata has other keys; the error names the file and what is given."""
    return Breakage(name=label, apply=keys(**changes), says=("metadata.json", *says))
