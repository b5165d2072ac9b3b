"""What some options come to: values of their own, where a number or a word does not do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.verdict import Outcome

ALWAYS_AGAIN: Final = frozenset({Outcome.UNAVAILABLE, Outcome.CRASH, Outcome.NOT_RUN})
"""Outcomes whose runs a resumed session makes again, since they say nothing of the agent."""

MAY_BE_AGAIN: Final = tuple(one for one in Outcome if one not in {*ALWAYS_AGAIN, Outcome.CORRECT})
"""Outcomes whose runs are made again where that is asked for."""

MARKDOWN: Final = "md"
"""The format of a page that the summary of a step takes."""

ANNOTATIONS: Final = "annotations"
"""What has no page: commands to a CI server, on its log."""

GITHUB: Final = "github"
"""Instead of a path: GitHub Actions, by the summary of a step or by its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """What need not agree with a recording: paths in bodies, and hosts that are left alone."""

    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How many tasks of each domain to draw, and with which seed."""

    size: int
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.size}@{self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """The `number`-th of `count` parts of each domain, counted from 1."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """Read `i/n`.

        Raises:
            ValueError: it is written otherwise, or there is no such part.
        """
        found = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            msg = f"{text}: write i/n with i from 1 to n, such as 1/4"
            raise ValueError(msg)
        return cls(number=int(found[1]), count=int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """The session to resume, outcomes whose runs are made again, and whether to in any case."""

    session: str
    retry: frozenset[Outcome] = frozenset()
    anyway: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAgent:
    """An agent of the session: its spec, and what its runs are filed under."""

    name: str
    spec: str

    def __str__(self) -> str:
        return self.spec if self.name == self.spec else f"{self.name}={self.spec}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTarget:
    """A page of a format, and where it goes: a path, or `github`."""

    format: str
    path: str

    @property
    def is_step_summary(self) -> bool:
        return self.format == MARKDOWN and self.path == GITHUB

    @property
    def is_annotations(self) -> bool:
        return self.format == ANNOTATIONS

    def __str__(self) -> str:
        return f"{self.format}={self.path}"
