"""What stands beside the files of a domain and says how far it can be relied on.

The strong sample are the few tasks that fail whatever all of them fail. The review says whether
people have read the labels of a domain that was drafted with a model. Both hold for the files as
they were, and decide nothing about a run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._core.domain import Domain, contract_fingerprint
from pytest_sopbench.errors import LoadingError

from .load import POLICY_FILE
from .tools import EXPECTED_CALLS_FILE

# The strong sample of a domain: the few tasks that fail whatever all of them fail.

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
    files = {"policy": domain.folder / POLICY_FILE, "calls": domain.folder / EXPECTED_CALLS_FILE}
    hashes = {
        **domain.hashes,
        "rules": contract_fingerprint(domain.contract)[:_SHOWN],
        # As texts, so that a checkout with other ends of lines has the same.
        **{
            name: sha256(path.read_text("utf-8").encode()).hexdigest()[:_SHOWN]
            for name, path in files.items()
            if path.is_file()
        },
    }
    return " ".join(f"{name}:{hashes[name]}" for name in sorted(hashes))


def read_strong_sample(domain: Domain) -> StrongSample:
    """Read the sample of a domain.

    Raises:
        LoadingError: there is none, it cannot be read, or the domain has changed since.
    """
    path = domain.folder / STRONG_FILE
    write = _WRITE.format(domain.folder.name)
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


# Whether people have read the labels of a domain that was drafted with a model.

DRAFTING: Final = "drafting"
"""The folder beside the files of a domain that says that it was drafted."""

REVIEW: Final = "review.json"
_ENDINGS: Final = (".json", ".jsonl", ".toml", ".csv", ".tsv", ".md", ".txt", ".py")
_NO_PART: Final = frozenset({REVIEW, STRONG_FILE, "judge_calibration.json", "agent.py"})
"""Files that decide nothing: what is measured of a domain, and who is tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a person has read of a domain.

    Attributes:
        name: who.
        time: when it was finished, in ISO form; empty while it is not.
        hash: of the files that were read.
        rows: by task what the reader said before seeing the label, and what came of it.
        rest: a hash of all of these files but the rows.
        tasks: by task a hash of what the row says, label included.
        earlier: the same of the rows that an earlier review, which was finished, was about.
    """

    name: str
    time: str = ""
    hash: str = ""
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, "Mapping[str, Any]"])
    rest: str = ""
    tasks: Mapping[str, str] = field(default_factory=dict[str, str])
    earlier: Mapping[str, str] = field(default_factory=dict[str, str])

    def holds(self, folder: Path) -> bool:
        """Whether it was finished, and every file is as it was then."""
        return bool(self.time) and self.hash == files_hash(folder)

    def is_left(self, folder: Path) -> bool:
        """Whether it was begun and not finished, and every file is as it was then."""
        return not self.time and self.hash == files_hash(folder)


def files_hash(folder: Path, *, but: Collection[str] = ()) -> str:
    """Return a hash of all files in a domain's folder that decide anything."""
    content = sha256()
    for path in sorted(folder.iterdir()):
        is_part = path.suffix in _ENDINGS and path.name not in {*_NO_PART, *but}
        if is_part and not path.name.startswith(("test_", ".")) and path.is_file():
            content.update(f"{path.name}\n".encode())
            content.update(sha256(path.read_bytes()).digest())
    return content.hexdigest()


def read_review(folder: Path) -> Review | None:
    """Read the review of a domain; `None` if there is none that can be read."""
    try:
        return Review(**json.loads((folder / REVIEW).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def review_text(review: Review) -> str:
    """Return what `read_review` reads."""
    return json.dumps(asdict(review), indent=1, ensure_ascii=False) + "\n"


def draft_of(domain: Domain) -> str:
    """Say why the labels of a domain prove nothing yet: it was drafted, and is not reviewed."""
    if not (domain.folder / DRAFTING).is_dir():
        return ""
    review = read_review(domain.folder)
    if review is not None and review.holds(domain.folder):
        return ""
    told = f"{len(domain.task_ids)} labels not reviewed"
    if review is not None and review.time:
        return f"{told} (a file has changed since {review.name} did)"
    return told
