"""Values of options, read from their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from os.path import expanduser, realpath
from typing import Final, Literal
from urllib.parse import unquote

from pytest_sopbench._core.gates.conditions import GateSpec
from pytest_sopbench._core.gates.conditions import read_fail_under as read_bound
from pytest_sopbench._core.steps import AUTO as APPROVED
from pytest_sopbench._core.steps import DENY, SCRIPTED
from pytest_sopbench._core.verdict import Outcome

# What some options come to: values of their own, if a number or a word does not do.

ALWAYS_AGAIN: Final = frozenset({Outcome.UNAVAILABLE, Outcome.CRASH, Outcome.NOT_RUN})
"""Outcomes whose runs a resumed session makes again, since they say nothing of the agent."""

MAY_BE_AGAIN: Final = tuple(one for one in Outcome if one not in {*ALWAYS_AGAIN, Outcome.CORRECT})
"""Outcomes whose runs are made again if that is asked for."""

MARKDOWN: Final = "md"
"""The format of a page that the summary of a step takes."""

ANNOTATIONS: Final = "annotations"
"""What has no page: commands to a CI server, on its log."""

GITHUB: Final = "github"
"""Instead of a path: GitHub Actions, by the summary of a step or by its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """What need not agree with a recording: paths in bodies, patterns in texts, and hosts."""

    paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Which tasks of each domain are run: the first, as many drawn with a seed, or strong ones.

    A `strong` sample is read from the domain, and of size 0 it is the whole of it.
    """

    size: int
    seed: int = 0
    is_first: bool = False
    strong: bool = False

    def __str__(self) -> str:
        if self.strong:
            return f"{STRONG}:{self.size}" if self.size else STRONG
        return f"{FIRST}{self.size}" if self.is_first else f"{self.size}@{self.seed}"


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
class Compare:
    """The session to compare with, and whether this one becomes it if there is none."""

    session: str
    create: bool = False


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


# What the texts of options mean.
#
# A reader takes the text that was set and returns its value. A text that means nothing raises
# `ValueError`, whose message begins with the text, so that the name of what set it can stand
# before.

AUTO: Final = "auto"
ALL: Final = "all"
NO_GATE: Final = "none"
HOST: Final = "host:"
TEXT: Final = "text:"
FIRST: Final = "first:"
STRONG: Final = "strong"
CREATE: Final = ",create"
RETRY: Final = "retry="
ANYWAY: Final = "anyway"

_VARIANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

_NO_NAME: Final = frozenset("[]:")
"""Characters that stand in no name of an agent: they mean something in ids, specs and gates."""

MOST_TRIALS: Final = 1_000
"""More are a slip: each trial is an item, of which a session would have too many to begin."""


def read_approver(text: str) -> str:
    """Read who approves steps: a word, or `scripted:` and the path of a file."""
    kind, sign, path = text.partition(":")
    if text in (APPROVED, DENY) or (kind == SCRIPTED and sign and path):
        return text
    msg = f"{text}: auto, deny or scripted:PATH expected"
    raise ValueError(msg)


def read_compare(text: str) -> Compare:
    """Read a name or a path, and `,create` after it."""
    session = text.removesuffix(CREATE)
    if not session:
        msg = f"{text}: write NAME{CREATE} or PATH{CREATE}"
        raise ValueError(msg)
    return Compare(session=session, create=session != text)


def read_resume(text: str) -> Resume:
    """Read a name or a path, and `,retry=OUTCOME+...` and `,anyway` after it, in any order."""
    session, retry, anyway = text, frozenset[Outcome](), False
    while True:
        before, comma, word = session.rpartition(",")
        if comma and word == ANYWAY:
            anyway = True
        elif comma and word.startswith(RETRY):
            retry |= _read_outcomes(text, word.removeprefix(RETRY))
        else:
            break
        session = before
    if not session or session == ANYWAY or session.startswith(RETRY):
        msg = f"{text}: name the session to resume first, such as last,{RETRY}error+timeout"
        raise ValueError(msg)
    return Resume(session=session, retry=retry, anyway=anyway)


def _read_outcomes(text: str, outcomes: str) -> frozenset[Outcome]:
    words = outcomes.split("+")
    if any(word not in MAY_BE_AGAIN for word in words):
        msg = (
            f"{text}: {RETRY} takes one or more of {'+'.join(MAY_BE_AGAIN)}\n"
            f"{', '.join(sorted(ALWAYS_AGAIN))} are always made again"
        )
        raise ValueError(msg)
    return frozenset(map(Outcome, words))


def read_agent_args(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read `KEY=VALUE`, each key once."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            msg = f"{text}: write KEY=VALUE, KEY being a parameter of the agent"
            raise ValueError(msg)
        if name in pairs:
            msg = f"{name}: given twice"
            raise ValueError(msg)
        pairs[name] = value
    return tuple(pairs.items())


def read_agents(texts: Sequence[str]) -> tuple[GivenAgent, ...]:
    """Read `SPEC` or `NAME=SPEC`, each agent once and each name once."""
    agents: dict[str, GivenAgent] = {}
    for text in texts:
        given = _read_agent(text)
        twice = next((one for one in agents.values() if one.spec == given.spec), None)
        if twice is not None:
            msg = (
                f"{text}: the same agent twice; to build it in two ways, give it two names in its "
                "module; --sop-trials runs each task several times"
            )
            raise ValueError(msg)
        if given.name in agents:
            msg = f"{text}: another agent of this session is called {given.name} as well"
            raise ValueError(msg)
        agents[given.name] = given
    return tuple(agents.values())


def _read_agent(text: str) -> GivenAgent:
    name, sign, spec = text.partition("=")
    if not sign or ":" in name:
        # A spec may hold the sign, but none begins with a plain name before it.
        name = spec = text
    elif not name.strip() or not name.isprintable() or _NO_NAME.intersection(name):
        msg = f"{text}: write NAME=SPEC, with a NAME that holds no : [ ] and that can be seen"
        raise ValueError(msg)
    name, spec = name.strip(), spec.strip()
    if not spec:
        msg = f"{text!r}: no agent is named; write SPEC or NAME=SPEC"
        raise ValueError(msg)
    return GivenAgent(name=name, spec=spec)


def read_count(text: str) -> int:
    """Read a whole number of at least 1."""
    if not re.fullmatch(r"[0-9]+", text) or int(text) < 1:
        msg = f"{text}: a whole number of at least 1 expected"
        raise ValueError(msg)
    return int(text)


def read_natural(text: str) -> int:
    """Read a whole number of at least 0."""
    if not re.fullmatch(r"[0-9]+", text):
        msg = f"{text}: a whole number expected"
        raise ValueError(msg)
    return int(text)


def read_keep(text: str) -> int | None:
    """Read how many sessions are kept; `None` if all are."""
    if text == ALL:
        return None
    if not re.fullmatch(r"0*[1-9][0-9]*", text):
        msg = f"{text}: a whole number of at least 1 expected, or {ALL}"
        raise ValueError(msg)
    return int(text)


def read_trials(text: str) -> int:
    """Read how often each task is run."""
    trials = read_count(text)
    if trials > MOST_TRIALS:
        msg = f"{text}: at most {MOST_TRIALS} trials of each task can be run in one session"
        raise ValueError(msg)
    return trials


def read_concurrency(text: str) -> int | Literal["auto"]:
    """Read how many runs may be in flight."""
    if text == AUTO:
        return AUTO
    try:
        return read_count(text)
    except ValueError:
        msg = f"{text}: a whole number of at least 1, or auto, expected"
        raise ValueError(msg) from None


def read_seconds(text: str) -> float | None:
    """Read a time limit in seconds; 0 is no limit, `None`."""
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < inf:
        msg = f"{text}: seconds expected, such as 90 or 0.5; 0 is no limit"
        raise ValueError(msg)
    return seconds or None


def read_sample(text: str) -> Sample:
    """Read `N`, `N@SEED`, `first:N`, `strong` or `strong:N`."""
    strong = re.fullmatch(rf"{STRONG}(?::([1-9][0-9]*))?", text)
    if strong:
        return Sample(size=int(strong[1] or 0), strong=True)
    found = re.fullmatch(r"(first:)?([0-9]+)(?:@([0-9]+))?", text)
    if not found or int(found[2]) < 1 or (found[1] and found[3]):
        msg = f"{text}: write N, N@SEED, first:N, strong or strong:N, such as 20, 20@7 or first:20"
        raise ValueError(msg)
    return Sample(size=int(found[2]), seed=int(found[3] or 0), is_first=bool(found[1]))


def read_tags(text: str) -> frozenset[str]:
    """Read a comma list of tags."""
    tags = frozenset(tag for part in text.split(",") if (tag := part.strip()))
    if not tags:
        msg = f"{text}: name at least one tag"
        raise ValueError(msg)
    return tags


def read_variants(text: str) -> tuple[str, ...]:
    """Read a comma list of variants, each of which is named once."""
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    odd = next((one for one in names if not _VARIANT.fullmatch(one)), None)
    if odd is not None or not names:
        msg = f"{text}: names of variants expected, such as nosop,noise (letters, digits, - and _)"
        raise ValueError(msg)
    return names


def read_fail_under(text: str) -> tuple[GateSpec, ...]:
    """Read a bound on TSR; `none` is no gate."""
    return () if text == NO_GATE else (read_bound(text),)


def read_reports(texts: Sequence[str], formats: Collection[str]) -> tuple[ReportTarget, ...]:
    """Read `FORMAT=PATH`, `md=github` and `annotations=github`; `formats` are all that there are.

    Raises:
        ValueError: one is written otherwise, or two are to go to the same place.
    """
    found = tuple(_report_target(text, formats) for text in texts)
    places: dict[str, ReportTarget] = {}
    for target in found:
        # Not Path.expanduser, which raises if there is no such user.
        home = expanduser(target.path)  # noqa: PTH111
        place = str(target) if target.path == GITHUB else realpath(home)
        first = places.setdefault(place, target)
        if first is not target:
            msg = f"{target}: {first} goes to the same place"
            raise ValueError(msg)
    return found


def _report_target(text: str, formats: Collection[str]) -> ReportTarget:
    kind, sign, target = text.partition("=")
    # The summary of a step is Markdown, whatever else a page may be written in.
    to_github = {MARKDOWN, ANNOTATIONS} if target == GITHUB else {*formats}
    if kind not in to_github or not sign or not target:
        known = ", ".join(f"{name}=PATH" for name in formats)
        msg = f"{text}: write {known}, md=github for the step summary, or annotations=github"
        raise ValueError(msg)
    if any(f",{other}=" in target for other in (*formats, ANNOTATIONS)):
        msg = f"{text}: one report at a time; give --sop-report again for each further one"
        raise ValueError(msg)
    return ReportTarget(format=kind, path=target)


def read_ignored(texts: Sequence[str]) -> Ignored:
    """Read paths of JSON, patterns as `text:REGEX`, and hosts as `host:NAME[:PORT]`."""
    hosts = [text.removeprefix(HOST) for text in texts if text.startswith(HOST)]
    for host in hosts:
        if not host or any(sign in host for sign in "/ "):
            msg = f"{HOST}{host}: write host:NAME or host:NAME:PORT"
            raise ValueError(msg)
    patterns = [text.removeprefix(TEXT) for text in texts if text.startswith(TEXT)]
    paths = [text for text in texts if not text.startswith((HOST, TEXT))]
    return Ignored(paths=tuple(paths), patterns=tuple(patterns), hosts=tuple(hosts))


def read_tool_address(words: Sequence[str]) -> tuple[str, str]:
    """Read `LISTEN` or `LISTEN TOLD`: an address of this machine, and the host to tell agents."""
    if not 1 <= len(words) <= 2 or any("/" in word for word in words):  # noqa: PLR2004
        msg = f"{' '.join(words)}: write LISTEN or LISTEN TOLD, as 0.0.0.0 host.docker.internal"
        raise ValueError(msg)
    return words[0], words[-1]


def read_days(text: str) -> int:
    """Read a number of days."""
    try:
        return read_count(text.removesuffix("d"))
    except ValueError:
        msg = f"{text}: days expected, such as 90 or 90d"
        raise ValueError(msg) from None


def read_choice(*words: str) -> Callable[[str], str]:
    """Return a reader of one of a few words."""

    def read(text: str) -> str:
        if text not in words:
            msg = f"{text}: one of {', '.join(words)} expected"
            raise ValueError(msg)
        return text

    return read


# Secrets that nobody has to name: what `env:` settings hold, and passwords in addresses.

ENV: Final = "env:"
"""Begins what names a variable of the environment."""

_USER: Final = re.compile(r"://([^/?#\s\"'<>]+)@")
"""What stands before the host of an address: a user with a password, or a token alone."""

_TOKEN: Final = 16
"""Characters from which on a user without a password is taken for a token."""

_ADDRESS: Final = re.compile(
    r".*(?:_PROXY|_BASE_URL|_API_BASE|_ENDPOINT)|AWS_ENDPOINT_URL\w*", re.IGNORECASE
)
"""Variables that lead clients to a proxy or to another server."""


def held_by_variables(
    settings: Iterable[str], environment: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the key and the secret of each `KEY=env:NAME` whose variable holds anything."""
    for one in settings:
        name, _, value = one.partition("=")
        held = environment.get(value.removeprefix(ENV), "") if value.startswith(ENV) else ""
        if held.strip():
            yield name, held


def passwords_of(settings: Iterable[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the passwords in the addresses of settings, and of variables that clients follow.

    Clients quote the address that they cannot reach, and servers the header that they were sent.
    """
    given = [*settings]
    texts = [*given, *(held for _, held in held_by_variables(given, environment))]
    # A thread may change the environment meanwhile.
    texts += [environment.get(name, "") for name in [*environment] if _ADDRESS.fullmatch(name)]
    for text in texts:
        for found in _USER.findall(text):
            user, sign, password = found.partition(":")
            if sign or len(user) >= _TOKEN:
                secret = password if sign else user
                yield from dict.fromkeys((secret, unquote(secret)))
