"""The SOP options of a session, read once and checked into one frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from pytest_sopbench._core.gates.budget import Budget
from pytest_sopbench._core.gates.summary_gates import GateSpec
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._core.trajectory.snapshot_rules import SnapshotRules
from pytest_sopbench._loading.load import DATA_FILES
from pytest_sopbench._loading.metadata.read import is_domain_folder
from pytest_sopbench._loading.quarantine_file import FILE_NAME

from .folders import domain_paths, typed_domain_folders
from .hidden import Hidden, read_hidden
from .identity import read_task_id
from .ini import ini_value, ini_values
from .option_values import (
    Resume,
    Sample,
    Shard,
    read_agent_args,
    read_budget,
    read_choice,
    read_concurrency,
    read_count,
    read_fail_under,
    read_gate,
    read_keep,
    read_natural,
    read_reports,
    read_resume,
    read_sample,
    read_scoring,
    read_seconds,
    read_shard,
    read_snapshot_rules,
    read_tags,
    read_trials,
)
from .strictness import types_gate

DEFAULT_SESSIONS_DIR = ".sop/sessions"
DEFAULT_SNAPSHOTS_DIR = "sop_snapshots"
DEFAULT_MAX_CALLS = 100
DEFAULT_TIMEOUT = 600.0
"""Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for, from the command line and from the project's configuration.

    `typed_domains` tells that `--sop-domain` was typed on the command line, and not set in
    `addopts` or as an ini value. `named` are the domains of task ids, data files and folders among
    pytest's arguments; they are among `domains`. `types_gate` tells that a gate came with this session, and not with
    the configuration. `junit_misses` is `failure` or `skipped`, `contract` is `report`,
    `off` or `enforce`, `traces` is `failed`, `all` or `none`. `concurrency` counts the runs in
    flight of all processes together, `None` is one per process. `timeout` is in seconds, `None`
    is no limit. `reports` are paths of pages, or `github`. `names_tasks_file` tells that the
    configuration names the tasks file, so that it must be there. `lookahead` is `None` where it
    follows from the concurrency. `keep_sessions` is `None` where all are kept.
    """

    domains: tuple[str, ...]
    typed_domains: bool
    named: tuple[str, ...]
    agent: str | None
    agent_args: tuple[tuple[str, str], ...]
    trials: int
    budget: Budget
    limit: int | None
    sample: Sample | None
    tags: frozenset[str]
    shard: Shard | None
    gates: tuple[GateSpec, ...]
    types_gate: bool
    save: str | None
    resume: Resume | None
    compare: str | None
    compare_create: bool
    reports: tuple[str, ...]
    tasks_file: Path
    names_tasks_file: bool
    paths: tuple[Path, ...]
    trusted: tuple[Path, ...]
    sessions_dir: Path
    keep_sessions: int | None
    max_calls: int
    concurrency: int | Literal["auto"] | None
    timeout: float | None
    lookahead: int | None
    retries: int
    scoring: Scoring
    unavailable: frozenset[str]
    junit_misses: str
    contract: str
    traces: str
    hidden: Hidden
    snapshots_dir: Path
    snapshot_rules: SnapshotRules

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
            ("--sop-shard", f"{shard.number}/{shard.count}" if shard else None),
            ("--sop-sample", f"{sample.size}@{sample.seed}" if sample else None),
            ("--sop-limit", self.limit),
        )
        return tuple(f"{name}={value}" for name, value in parts if value is not None)


def read_options(config: pytest.Config) -> Options:
    """Read every SOP option.

    Raises:
        pytest.UsageError: a value is not one that its option takes, or two cannot go together.
    """
    # First of all: what is said of the others must be masked, too.
    hidden = read_hidden(config)
    given: Sequence[str] | None = config.getoption("sop_domain")
    domains = given if given is not None else ini_values(config, "sop_domain")
    typed_domains = _is_typed(config, "--sop-domain")
    named = _named(config)
    if not typed_domains:
        folders = (str(folder) for folder in typed_domain_folders(config))
        named = tuple(dict.fromkeys((*named, *folders)))
    max_calls = read_count("sop_max_calls", ini_value(config, "sop_max_calls"))
    options = Options(
        domains=tuple(dict.fromkeys((*domains, *named))),
        typed_domains=typed_domains,
        named=named,
        agent=config.getoption("sop_agent") or ini_value(config, "sop_agent"),
        agent_args=read_agent_args(config.getoption("sop_agent_arg") or ()),
        trials=read_trials(*_set_by(config, "sop_trials")),
        budget=read_budget(config.getoption("sop_budget") or ()),
        limit=read_count("--sop-limit", config.getoption("sop_limit")),
        sample=read_sample(config.getoption("sop_sample")),
        tags=read_tags(config.getoption("sop_tags")),
        shard=read_shard(config.getoption("sop_shard")),
        gates=_gates(config),
        types_gate=types_gate(config),
        save=config.getoption("sop_save"),
        resume=read_resume(
            config.getoption("sop_resume"),
            config.getoption("sop_resume_retry"),
            anyway=bool(config.getoption("sop_resume_anyway")),
        ),
        compare=config.getoption("sop_compare"),
        compare_create=bool(config.getoption("sop_compare_create")),
        reports=read_reports(config.getoption("sop_report") or ()),
        tasks_file=_folders(config, "sop_tasks_file", (FILE_NAME,))[0],
        names_tasks_file=bool(ini_values(config, "sop_tasks_file")),
        paths=domain_paths(config),
        trusted=_folders(config, "sop_trust", ()),
        sessions_dir=_folders(config, "sop_sessions_dir", (DEFAULT_SESSIONS_DIR,))[0],
        keep_sessions=read_keep("sop_keep_sessions", ini_value(config, "sop_keep_sessions")),
        max_calls=max_calls or DEFAULT_MAX_CALLS,
        concurrency=read_concurrency(*_set_by(config, "sop_concurrency")),
        timeout=read_seconds(*_set_by(config, "sop_timeout"), DEFAULT_TIMEOUT),
        lookahead=read_natural("sop_lookahead", ini_value(config, "sop_lookahead")),
        retries=read_natural("sop_retries", ini_value(config, "sop_retries")) or 0,
        scoring=read_scoring(ini_value(config, "sop_scoring")),
        unavailable=frozenset(ini_values(config, "sop_unavailable_exceptions")),
        junit_misses=read_choice(
            "sop_junit_misses", ini_value(config, "sop_junit_misses"), ("failure", "skipped")
        ),
        contract=read_choice(
            "sop_contract", ini_value(config, "sop_contract"), ("report", "off", "enforce")
        ),
        traces=read_choice(
            "sop_traces", ini_value(config, "sop_traces"), ("failed", "all", "none")
        ),
        hidden=hidden,
        snapshots_dir=_folders(config, "sop_snapshots_dir", (DEFAULT_SNAPSHOTS_DIR,))[0],
        snapshot_rules=read_snapshot_rules(ini_values(config, "sop_snapshot_rules")),
    )
    typed = {config.getoption("sop_fail_under"), *(config.getoption("sop_gate") or ())}
    if options.shard is not None and typed - {None, "none"}:
        msg = (
            "--sop-shard: a part of the tasks cannot be gated\n"
            "leave --sop-fail-under and --sop-gate out; gates of the configuration are set aside"
        )
        raise pytest.UsageError(msg)
    return options


def _set_by(config: pytest.Config, name: str) -> tuple[str, str | None]:
    """Return a value and what it was set by: the option, else its ini twin."""
    typed: str | None = config.getoption(name)
    if typed is not None:
        return f"--{name.replace('_', '-')}", typed
    return name, ini_value(config, name)


def _is_typed(config: pytest.Config, option: str) -> bool:
    words = map(str, config.invocation_params.args)
    return any(word == option or word.startswith(f"{option}=") for word in words)


def _named(config: pytest.Config) -> tuple[str, ...]:
    """Return the domains of the ids and data files that stand among pytest's arguments."""
    here = config.invocation_params.dir
    named: dict[str, None] = {}
    for arg in config.args:
        head = here / arg.split("::")[0]
        found = None if head.exists() else read_task_id(arg)
        if found is not None:
            named[found.domain] = None
        elif head.name in DATA_FILES and is_domain_folder(head.parent):
            # An id as it is printed for a domain of the project: its data file and the task.
            named[f"{head.parent.resolve()}"] = None
    return tuple(named)


def _gates(config: pytest.Config) -> tuple[GateSpec, ...]:
    """Return the gates of the command line, and those of the configuration that it leaves."""
    typed: str | None = config.getoption("sop_fail_under")
    if typed is not None:
        bound = read_fail_under("--sop-fail-under", typed)
    else:
        bound = read_fail_under("sop_fail_under", ini_value(config, "sop_fail_under"))
    gates: Sequence[str] | None = config.getoption("sop_gate")
    if gates is not None:
        others = [read_gate("--sop-gate", gate) for gate in gates]
    else:
        others = [read_gate("sop_gate", gate) for gate in ini_values(config, "sop_gate")]
    return (*bound, *others)


def _folders(config: pytest.Config, name: str, default: Sequence[str]) -> tuple[Path, ...]:
    words = ini_values(config, name) or default
    return tuple(config.rootpath / Path(word).expanduser() for word in words)
