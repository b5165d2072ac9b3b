"""The SOP options of a session, read once and checked into one frozen value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeVar, cast

import pytest

from pytest_sopbench._core.gates.budget import Budget, read_budget
from pytest_sopbench._core.gates.conditions import GateSpec, read_gate
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._core.trajectory.snapshot import SnapshotRules, read_rules
from pytest_sopbench._core.values.patterns import Pattern
from pytest_sopbench._hooks.settings.asked import (
    domain_paths,
    given_agents,
    read_asked_domains,
    types_agents,
)
from pytest_sopbench._hooks.settings.hidden import Hidden, compiled, read_hidden
from pytest_sopbench._hooks.settings.ini import ini_values, is_ci, one_word, refusing, types_gate
from pytest_sopbench._replay.exchange import JsonPath, read_path
from pytest_sopbench._replay.run_tape import Mode
from pytest_sopbench._reports.formats import format_names
from pytest_sopbench._settings import readers
from pytest_sopbench._settings.extensions import load_metrics
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench._settings.readers import (
    Compare,
    GivenAgent,
    ReportTarget,
    Resume,
    Sample,
    Shard,
)
from pytest_sopbench._settings.table import (
    CASSETTES,
    JUDGEMENTS,
    SESSIONS,
    SNAPSHOTS,
    SPECS,
    TASKS_FILE,
)

_T = TypeVar("_T")

PRICE_WORDS: Final = ("", "none", "genai-prices")
"""Not set: genai-prices if it is installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for, from the command line and from the project's configuration.

    `typed_domains` tells that `--sop-domain` was typed on the command line, and not set in
    `addopts` or as an ini value. `named` are the domains of task ids among pytest's arguments; they
    are among `domains`. `agents` are those of the command line, else of the configuration;
    `types_agents` tells that they were typed with this command, and not set in `addopts`.
    `types_gate` tells that a gate came with this session, and not with the configuration; `in_ci`
    is what the environment said before an agent could change it.
    `judge` are the words of `sop_judge`, which mean something if a field has a judge.
    `junit_misses` is `failure` or `skipped`,
    `contract` is `report`, `off` or `enforce`, `traces` is `failed`, `all` or `none`. `concurrency`
    counts the runs in flight of all processes together, `None` is one per process. `timeout` and
    `comparer_timeout` are in seconds, `None` is no limit. `keep_sessions` is `None` if
    all are kept. `prices` is a file, or one of `PRICE_WORDS`.
    """

    domains: tuple[str, ...]
    typed_domains: bool
    named: tuple[str, ...]
    agents: tuple[GivenAgent, ...]
    types_agents: bool
    approver: str
    agent_args: tuple[tuple[str, str], ...]
    trials: int
    variants: tuple[str, ...]
    budget: Budget
    prices: Path | str
    sample: Sample | None
    tags: frozenset[str]
    shard: Shard | None
    gates: tuple[GateSpec, ...]
    types_gate: bool
    in_ci: bool
    save: str | None
    resume: Resume | None
    compare: Compare | None
    reports: tuple[ReportTarget, ...]
    tasks_file: Path
    paths: tuple[Path, ...]
    trusted: tuple[Path, ...]
    sessions_dir: Path
    keep_sessions: int | None
    max_calls: int
    tool_address: tuple[str, str]
    concurrency: int | Literal["auto"] | None
    timeout: float | None
    retries: int
    scoring: Scoring
    unavailable: frozenset[str]
    comparer_timeout: float | None
    judge: tuple[str, ...]
    judgements_dir: Path
    junit_misses: str
    contract: str
    traces: str
    hidden: Hidden
    snapshots_dir: Path
    snapshot_rules: SnapshotRules
    replay: Replay

    @property
    def redaction(self) -> Redaction:
        """What is masked wherever we write."""
        return self.hidden.redaction

    @property
    def selection(self) -> tuple[str, ...]:
        """The options that select some tasks of a domain, as they are written."""
        sample, shard = self.sample, self.shard
        parts = (
            ("--sop-tags", ",".join(sorted(self.tags)) or None),
            ("--sop-shard", str(shard) if shard else None),
            ("--sop-sample", str(sample) if sample else None),
        )
        return tuple(f"{name}={value}" for name, value in parts if value is not None)


def read_options(config: pytest.Config) -> Options:
    """Read every SOP option.

    Raises:
        pytest.UsageError: a value is not one that its option takes, or two cannot go together.
    """
    # First of all: what is said of the others must be masked, too.
    hidden = read_hidden(config)
    # Gates are read by the names of the metrics.
    load_metrics(hidden.redaction.text)
    asked = read_asked_domains(config)
    with refusing("--sop-agent-arg"):
        agent_args = readers.read_agent_args(_words(config, "sop_agent_arg"))
    with refusing("--sop-budget"):
        budget = read_budget(_words(config, "sop_budget"))
    with refusing("--sop-report"):
        asked_reports = _words(config, "sop_report")
        reports = readers.read_reports(asked_reports, format_names() if asked_reports else ())
    with refusing("sop_tool_address", ": "):
        tool_address = readers.read_tool_address(_words(config, "sop_tool_address"))
    with refusing("sop_snapshot_rules", ": "):
        snapshot_rules = read_rules(_words(config, "sop_snapshot_rules"))
    ignored, committed = _folder(config, "sop_dir"), _folder(config, "sop_committed_dir")
    if not committed.is_dir():
        # What a slip in the name would lose are tasks that must pass.
        msg = f"sop_committed_dir: there is no folder {committed}\nmake it, or correct its name"
        raise pytest.UsageError(msg)
    options = Options(
        domains=asked.every,
        typed_domains=asked.typed,
        named=asked.named,
        agents=given_agents(config),
        types_agents=types_agents(config),
        approver=_required(config, "sop_approver", readers.read_approver),
        agent_args=agent_args,
        trials=_required(config, "sop_trials", readers.read_trials),
        variants=_read(config, "sop_variants", readers.read_variants) or (),
        budget=budget,
        prices=_prices(config),
        sample=_read(config, "sop_sample", readers.read_sample),
        tags=_read(config, "sop_tags", readers.read_tags) or frozenset(),
        shard=_read(config, "sop_shard", Shard.read),
        gates=_gates(config),
        types_gate=types_gate(config),
        in_ci=is_ci(),
        save=config.getoption("sop_save"),
        resume=_read(config, "sop_resume", readers.read_resume),
        compare=_read(config, "sop_compare", readers.read_compare),
        reports=reports,
        tasks_file=committed / TASKS_FILE,
        paths=domain_paths(config),
        trusted=tuple(config.rootpath / from_home(one) for one in _words(config, "sop_trust")),
        sessions_dir=ignored / SESSIONS,
        keep_sessions=_required(config, "sop_keep_sessions", readers.read_keep),
        max_calls=_required(config, "sop_max_calls", readers.read_count),
        tool_address=tool_address,
        concurrency=_read(config, "sop_concurrency", readers.read_concurrency),
        timeout=_required(config, "sop_timeout", readers.read_seconds),
        retries=_required(config, "sop_retries", readers.read_natural),
        scoring=Scoring(_choice(config, "sop_scoring", *(one.value for one in Scoring))),
        unavailable=frozenset(ini_values(config, "sop_unavailable_exceptions")),
        comparer_timeout=_required(config, "sop_comparer_timeout", readers.read_seconds),
        judge=ini_values(config, "sop_judge"),
        judgements_dir=ignored / JUDGEMENTS,
        junit_misses=_choice(config, "sop_junit_misses", "failure", "skipped"),
        contract=_choice(config, "sop_contract", "report", "off", "enforce"),
        traces=_choice(config, "sop_traces", "failed", "all", "none"),
        hidden=hidden,
        snapshots_dir=committed / SNAPSHOTS,
        snapshot_rules=snapshot_rules,
        replay=_replay(config, committed / CASSETTES),
    )
    typed = {config.getoption("sop_fail_under"), *(config.getoption("sop_gate") or ())}
    if options.shard is not None and typed - {None, "none"}:
        msg = (
            "--sop-shard: a part of the tasks cannot be gated\n"
            "leave --sop-fail-under and --sop-gate out; gates of the configuration are set aside"
        )
        raise pytest.UsageError(msg)
    return options


def _set_by(config: pytest.Config, name: str) -> tuple[str, tuple[str, ...]]:
    """Return what set a value, and its texts: the option, else its ini twin, else the table."""
    spec = SPECS[name]
    typed: str | Sequence[str] | None = config.getoption(name) if spec.is_option else None
    if typed is not None:
        return spec.option, (typed,) if isinstance(typed, str) else tuple(typed)
    return name, (ini_values(config, name) if spec.is_ini else ()) or spec.default


def _words(config: pytest.Config, name: str) -> tuple[str, ...]:
    return _set_by(config, name)[1]


def _read(config: pytest.Config, name: str, reader: Callable[[str], _T]) -> _T | None:
    """Return the one value of an option, or `None` if nothing sets it."""
    source, texts = _set_by(config, name)
    return _one(config, source, texts, reader) if texts else None


def _required(config: pytest.Config, name: str, reader: Callable[[str], _T]) -> _T:
    """Return the one value of an option that has a default in the table."""
    return _one(config, *_set_by(config, name), reader)


def _one(
    config: pytest.Config, source: str, texts: tuple[str, ...], reader: Callable[[str], _T]
) -> _T:
    text = one_word(config, source, texts)
    with refusing(source):
        return reader(text)


def _choice(config: pytest.Config, name: str, *words: str) -> str:
    return _required(config, name, readers.read_choice(*words))


def _gates(config: pytest.Config) -> tuple[GateSpec, ...]:
    """Return the gates of the command line, and those of the configuration that it leaves."""
    bound = _read(config, "sop_fail_under", readers.read_fail_under) or ()
    source, texts = _set_by(config, "sop_gate")
    with refusing(source):
        return (*bound, *map(read_gate, texts))


def replaced_gates(config: pytest.Config) -> Iterator[str]:
    """Say which gates of the configuration are not checked, since others were typed."""
    typed = config.getoption("sop_gate") or ()
    left_out = [gate for gate in ini_values(config, "sop_gate") if gate not in typed]
    if typed and left_out:
        yield f"of the configuration, not checked: {' '.join(left_out)} (--sop-gate replaces them)"


def _prices(config: pytest.Config) -> Path | str:
    """Return the file of prices, or the word that stands for something else."""
    source, texts = _set_by(config, "sop_prices")
    text = one_word(config, source, texts) if texts else ""
    if text in PRICE_WORDS:
        return text
    return config.rootpath / from_home(text)


def _folder(config: pytest.Config, name: str) -> Path:
    return config.rootpath / from_home(one_word(config, *_set_by(config, name)))


# What the options say of recorded model traffic.


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Whether traffic is recorded or replayed, and how.

    Attributes:
        mode: as `--sop-replay` has it.
        folder: where the cassettes are.
        ignored: paths of requests that need not agree.
        hosts: hosts whose traffic is left alone.
        changing: patterns of what changes with every run inside of texts.
        max_age: days after which a recording is too old; `None` if none is.
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


def _replay(config: pytest.Config, folder: Path) -> Replay:
    """Read what was set.

    Raises:
        pytest.UsageError: a path of JSON, a host or a pattern means nothing.
    """
    mode = _choice(config, "sop_replay", "off", "record", "only", "auto")
    with refusing("sop_replay_ignore", ": "):
        ignored = readers.read_ignored(_words(config, "sop_replay_ignore"))
        paths = tuple(map(read_path, ignored.paths))
    return Replay(
        mode=cast("Literal['off', 'record', 'only', 'auto']", mode),
        folder=folder,
        ignored=paths,
        hosts=ignored.hosts,
        changing=tuple(compiled("sop_replay_ignore", one) for one in ignored.patterns),
        max_age=_read(config, "sop_replay_max_age", readers.read_days),
    )
