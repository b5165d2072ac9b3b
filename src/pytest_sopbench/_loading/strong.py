"""The strong sample of a domain: the few tasks that fail whatever all of them fail."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._core.domain import Domain, contract_fingerprint
from pytest_sopbench._loading.load import EXPECTED_CALLS, POLICY_FILE
from pytest_sopbench.errors import LoadingError

STRONG_FILE: Final = "strong_sample.json"
_SHOWN: Final = 16
"""Characters of a hash, as in those of the content of a domain."""
_WRITE: Final = "write it by: sopbench audit {} --mutants --write-sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrongSample:
    """The tasks in the order in which they were chosen, and what the first of them stand for.

    `noticed` has for each task how many of the `mutants` fail on it or on one before it; `unseen`
    are those that fail on no task of the domain.
    """

    tasks: tuple[str, ...]
    noticed: tuple[int, ...]
    mutants: int
    unseen: int

    def says(self, size: int) -> str:
        """Say what the first tasks stand for, and what they cannot see."""
        size = min(size or len(self.tasks), len(self.tasks))
        seen, all_seen = self.noticed[size - 1], self.mutants - self.unseen
        return (
            f"{size} of the {len(self.tasks)} tasks of its strong sample fail {seen} of the "
            f"{all_seen} mutants that the whole domain fails; {self.unseen} more fail neither"
        )


def data_hash(domain: Domain) -> str:
    """What a sample holds for: rows, procedure, tools, rules, policy and expected calls."""
    files = {"policy": domain.folder / POLICY_FILE, "calls": domain.folder / EXPECTED_CALLS}
    hashes = {
        **domain.hashes,
        "rules": contract_fingerprint(domain.contract)[:_SHOWN],
        **{name: _hash_of(path) for name, path in files.items() if path.is_file()},
    }
    return " ".join(f"{name}:{hashes[name]}" for name in sorted(hashes))


def _hash_of(path: Path) -> str:
    # As a text, so that a checkout with other ends of lines has the same.
    return sha256(path.read_text("utf-8").encode()).hexdigest()[:_SHOWN]


def read_strong_sample(domain: Domain) -> StrongSample:
    """Read the sample of a domain.

    Raises:
        LoadingError: there is none, it cannot be read, or the domain has changed since.
    """
    path = domain.folder / STRONG_FILE
    write = _WRITE.format(_shown(domain.folder))
    if not path.is_file():
        raise LoadingError(path, "the domain has no strong sample", hint=write)
    try:
        held: Any = json.loads(path.read_text("utf-8"))
        sample = StrongSample(
            tasks=tuple(map(str, held["tasks"])),
            noticed=tuple(map(int, held["noticed"])),
            mutants=int(held["mutants"]),
            unseen=int(held["unseen"]),
        )
        data = held["data"]
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise LoadingError(path, f"it is no strong sample: {fault!r}", hint=write) from fault
    if data != data_hash(domain):
        raise LoadingError(path, "the domain has changed since it was written", hint=write)
    if not sample.tasks or len(sample.tasks) != len(sample.noticed):
        raise LoadingError(path, "it names no tasks, or not what each notices", hint=write)
    unknown = [one for one in sample.tasks if one not in domain.task_ids]
    if unknown:
        raise LoadingError(path, f"there is no task {unknown[0]!r}", hint=write)
    return sample


def _shown(folder: Path) -> str:
    return folder.name
