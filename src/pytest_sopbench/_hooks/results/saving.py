"""The saved session, written while the session runs, and what it says beside its runs.

That is what models and judges cost in it, and which of its domains nobody has reviewed.
"""

from __future__ import annotations

import traceback
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.domain import rules_fingerprint
from pytest_sopbench._core.gates.calibration import JudgeReport
from pytest_sopbench._core.gates.conditions import gate_text
from pytest_sopbench._core.hiding import harmless
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.task import RunKey, Share, share_of
from pytest_sopbench._core.model.trace import UNKNOWN_USAGE
from pytest_sopbench._core.model.usage import listed
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.results.resume import Resumption, named_agents
from pytest_sopbench._hooks.runs.reportable import journal_folder
from pytest_sopbench._hooks.session.domains import (
    LOG,
    ActiveDomain,
    judged_in,
    log_name_of,
    own_version,
)
from pytest_sopbench._hooks.session.session import (
    SopSession,
    deselection_reason,
    named_tasks,
    whole_plan,
)
from pytest_sopbench._loading.evidence import draft_of
from pytest_sopbench._loading.prices import INSTALL, NAME
from pytest_sopbench._reports.notices import Priced, price_lines
from pytest_sopbench._sessions.event_logs import TraceFolder
from pytest_sopbench._sessions.folder import (
    LAST,
    has_summary,
    last_path,
    point_at,
    prune,
    session_path,
)
from pytest_sopbench._sessions.header import (
    DomainHeader,
    SessionHeader,
    SessionOptions,
    git_state,
    planned_tasks,
)
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.saved import SavedSession
from pytest_sopbench._sessions.writer import SessionWriter, start_to_line
from pytest_sopbench._settings.extensions import outside_metrics
from pytest_sopbench.errors import SessionFileError, SopbenchError


class Saving:
    """Writes each run as it is entered; a disk that refuses ends the saving, never the session."""

    def __init__(self, sop: SopSession, resumption: Resumption) -> None:
        self._sop = sop
        self._resumption = resumption
        self._journals = journal_folder(sop)
        self._writer: SessionWriter | None = None
        self._header: SessionHeader | None = None
        self._traces: TraceFolder | None = None
        self.problems: list[str] = []
        self.log_problems: list[str] = []

    @property
    def path(self) -> Path:
        return self._journals.session

    def open(self) -> bool:
        """Open the file, also if there is no run to write into it so far.

        Returns:
            Whether lines may be added.
        """
        if self._writer is not None or self.problems:
            return not self.problems
        with self._noting(self.problems):
            kept = kept_path(self._sop)
            lines = self._resumption.lines(self.path)
            header = self._header = session_header(self._sop)
            self._writer = SessionWriter(self.path, header, kept=kept, lines=lines)
            with self._noting(self.log_problems):
                self._traces = self._resumption.logs(self.path)
        return not self.problems

    @contextmanager
    def _noting(self, problems: list[str]) -> Generator[None]:
        """Go on in spite of a disk that refuses, and note why."""
        try:
            yield
        except SopbenchError as error:
            problems.append(str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, the results are still to be told
            where = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__}: {error} (at {where.filename}:{where.lineno})"
            problems.append(f"{self.path}: cannot be written: {harmless(said)}")

    def start(self, key: RunKey) -> None:
        """Write that a run begins, so that a process that dies in it leaves its name."""
        # In any case: what may be taken over is made again nevertheless if its log is not whole.
        if self.open() and self._writer is not None and key not in self._resumption.taken.lines:
            with self._noting(self.problems):
                self._writer.append(start_to_line(key))

    def add(self, record: RunRecord, line: str, events: str = "") -> None:
        """Write a run; its event log before its line, and none if `events` is empty."""
        if not self.open() or self._writer is None:
            return
        if events and self._traces is not None and not self.log_problems:
            with self._noting(self.log_problems):
                self._traces.write(record.key, events)
        # A session that is resumed was opened with what it takes over.
        if line not in self._resumption.written:
            with self._noting(self.problems):
                self._writer.append(line)

    def finish(self, order: Iterable[RunKey], summaries: Mapping[str, Summary]) -> None:
        """Put the lines into the order of the plan, and close the file."""
        if self._writer is None or self._header is None or self.problems:
            return
        with self._noting(self.problems):
            # Workers may have told since which tasks a plugin took away, and which tests failed.
            now = session_header(self._sop, self._header)
            self._writer.finish(order, summaries, now)
            if self._traces is not None and self._writer.kept is not None:
                self._traces.copy(self._writer.kept)
        with self._noting(self.problems):
            # Be the last session, also if a copy could not be kept: the session itself is there.
            if not has_summary(self.path):
                return
            point_at(self.path)
        if self._sop.options.keep_sessions is not None:
            with self._noting(self.problems):
                prune(self.path.parent, self._sop.options.keep_sessions)

    def read_back(self) -> SavedSession | None:
        """Read the finished session, or return `None` if it is not there, or not this one."""
        found: SavedSession | None = None
        if not self.problems:
            with self._noting(self.problems):
                # What decides is what was written.
                found = read_session(self.path)
        if found is None:
            return None
        if found.header.identity != self._journals.identity:
            self.problems.append(f"{self.path}: another session lies in its place")
            return None
        if found.doubts:
            # Nobody but this session writes the file, so what decides is not what it wrote.
            self.problems += found.problems
            return None
        return found


def kept_path(sop: SopSession) -> Path | None:
    """Return where `--sop-save` wants the session, or `None`.

    Raises:
        SessionFileError: the value is neither a name nor a path.
    """
    if sop.options.save is None:
        return None
    path = session_path(sop.options.save, sop.options.sessions_dir)
    if path == last_path(sop.options.sessions_dir):
        msg = f"{LAST!r} is always the session that ended last"
        raise SessionFileError(msg, hint="choose another name to keep this one under")
    return sop.config.invocation_params.dir / path


def session_header(sop: SopSession, before: SessionHeader | None = None) -> SessionHeader:
    """Say what this session runs, and how it judges; `before` is what was said at its start."""
    planned: dict[str, list[RunKey]] = {}
    for key in whole_plan(sop):
        planned.setdefault(key.domain, []).append(key)
    # A shard may have no task of a domain, which it has a part of nevertheless.
    others = sop.plan.specs if sop.options.shard is not None else ()
    names = dict.fromkeys([*planned, *others])
    actives = {name: sop.find_active(name) for name in names}
    return SessionHeader(
        plugin=own_version(),
        agent=sop.agents_run,
        agent_args={
            name: sop.options.redaction.text(value) for name, value in sop.options.agent_args
        },
        options=_options(sop),
        git=git_state(sop.config.rootpath) if before is None else before.git,
        identity=journal_folder(sop).identity,
        started=before.started if before else datetime.now(UTC).isoformat(timespec="seconds"),
        judging=rules_fingerprint({name: active.rules for name, active in actives.items()}),
        domains={
            name: _domain_header(sop, active, planned.get(name, ()))
            for name, active in actives.items()
        },
    )


def _domain_header(sop: SopSession, active: ActiveDomain, keys: Sequence[RunKey]) -> DomainHeader:
    """Describe a domain, given its planned runs."""
    whole = planned_tasks(_trials(keys))
    agents = dict.fromkeys(key.agent for key in keys)
    hashes = active.domain.hashes
    return DomainHeader(
        sop=hashes["sop"],
        specs=hashes["specs"],
        tools=hashes["tools"],
        data=hashes["data"],
        judging=rules_fingerprint({active.domain.name: active.rules}),
        comparers=active.rules.comparers,
        deterministic=active.domain.mcp is None,
        planned=whole.planned,
        trials=whole.trials,
        some_trials=whole.some_trials,
        # That all are of the session's agent goes without saying.
        agents={
            agent: planned_tasks(_trials(key for key in keys if key.agent == agent))
            for agent in agents
            if agents.keys() != {sop.agent_label}
        },
        share=_share(sop, active),
    )


def _share(sop: SopSession, active: ActiveDomain) -> Share | None:
    """Return what merging needs to see that shards are the whole; `None` if this is none."""
    shard = sop.options.shard
    if shard is None:
        return None
    ids = active.domain.task_ids
    return share_of((ids[place] for place in active.pool), shard.number, shard.count)


def _trials(keys: Iterable[RunKey]) -> Mapping[str, Sequence[int]]:
    """Return the planned trials of each task."""
    tasks: dict[str, list[int]] = {}
    for key in keys:
        tasks.setdefault(key.task, []).append(key.trial)
    return tasks


def _options(sop: SopSession) -> SessionOptions:
    """Say what was asked for, and what `sopbench gate` needs to decide as the session did."""
    # By an allow-list: what is not named here may be secret, or only of this machine.
    options = sop.options
    # A later session takes the name of the last one for its own.
    baseline = options.compare.session if options.compare else ""
    return replace(
        with_judge(sop, sop.recorded),
        failures=sop.failures,
        # Also of a session without gates, and of a shard: gates may be checked on the file later.
        not_evaluated=deselection_reason(sop),
        compare=sop.recorded.compare or (baseline if baseline != LAST else ""),
        broken=tuple(sop.broken),
        drafts=drafts_of(sop),
        selection=(*options.selection, *named_tasks(sop)),
        trials=options.trials,
        agents=named_agents(sop),
        gates=tuple(map(gate_text, options.gates)),
        metrics=outside_metrics(),
        max_calls=options.max_calls,
        concurrency=options.concurrency,
        timeout=options.timeout,
        retries=options.retries,
        scoring=options.scoring.value,
        contract=options.contract,
        approver=options.approver,
        replay=options.replay.mode if options.replay.is_on else "",
    )


# What models and judges cost, counted as runs end.

# Says how far the judge can be relied on, and what it consumed apart from the agents.


def with_judge(sop: SopSession, options: SessionOptions) -> SessionOptions:
    """Add what the saved session says of its judge: what it consumed, and where not to rely."""
    judging = judged_in(sop.config)
    if judging is None or not judging.calibrations:
        return options
    from pytest_sopbench._judge.keeping import read_log  # noqa: PLC0415 - only if a model judges

    told = read_log(judging.log, sop.prices)
    return replace(
        options,
        judge=JudgeReport(
            fields=judging.judged,
            asked=told.asked,
            failed=told.failed,
            kept=told.kept,
            repeated=told.repeated,
            usage=told.usage,
        ),
        doubtful=judging.doubtful,
    )


class CostSummary:
    """Says what costs beside the agents, by which prices, and which labels nobody has reviewed.

    Each run is looked at as it is recorded, in the process that prints the summary.
    """

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._priced = Priced()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        # The controller of xdist collects nothing, and its workers run agents meanwhile.
        drafts_of(self._sop)

    @pytest.hookimpl
    def pytest_collection_finish(self) -> None:
        drafts_of(self._sop)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[LOG] = log_name_of(self._sop.config)

    @pytest.hookimpl
    def pytest_sop_run_finished(self, run: RunRecord) -> None:
        if run.usage is UNKNOWN_USAGE:
            return
        self._priced.watch(run)
        if run.usage.priced_by is not None:
            prices = listed(self._sop.recorded.prices, run.usage.priced_by)
            self._sop.recorded = replace(self._sop.recorded, prices=prices or "")

    @pytest.hookimpl
    def pytest_sop_summary(self) -> list[str]:
        return [
            *(
                f"draft: {told} ({name}), so no gate on it is held"
                for name, told in drafts_of(self._sop).items()
            ),
            *self._judge_lines(),
            *self._price_lines(),
        ]

    def _judge_lines(self) -> Sequence[str]:
        """Add up what all processes of the session asked the judge."""
        judging = judged_in(self._sop.config)
        if judging is None or not judging.calibrations:
            return ()
        from pytest_sopbench._judge.calibrating import summary_lines  # noqa: PLC0415 - only if a model judges
        from pytest_sopbench._judge.keeping import read_log  # noqa: PLC0415 - only if a model judges

        consumption = read_log(judging.log, self._sop.prices)
        judges = {
            f"{domain}, {field}": one for (domain, field), one in judging.calibrations.items()
        }
        lines = [*summary_lines(judges, consumption)]
        with suppress(OSError):
            judging.log.unlink(missing_ok=True)
        return lines

    def _price_lines(self) -> Iterable[str]:
        """Say by which prices costs were reckoned, and which models have none."""
        if self._sop.prices is not None:
            return price_lines(self._priced)
        # Who has asked for no prices knows that no cost can be reckoned.
        if self._sop.options.prices == "none":
            return ()
        return price_lines(self._priced, remedy=f"{NAME} is not installed: {INSTALL}")


# Domains that were drafted with a model, and whose labels nobody has reviewed.

_DRAFTS = pytest.StashKey[dict[str, str]]()


def drafts_of(sop: SopSession) -> Mapping[str, str]:
    """Return what is said of each drafted domain of a session.

    What a domain was when it was first asked for counts to the end: an agent under test may write
    a review as well as any other file.
    """
    known = sop.config.stash.setdefault(_DRAFTS, {})
    for active in sop.actives:
        if active.domain.name not in known:
            known[active.domain.name] = draft_of(active.domain)
    return {name: why for name, why in known.items() if why}
