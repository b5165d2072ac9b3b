"""Whether people have read the labels of a domain that was drafted with a model."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._loading.strong import STRONG_FILE

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
