"""Judge the runs of a saved session again, from what was kept of them; no agent is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_sopbench._core.documents.published import refuse_without_libraries
from pytest_sopbench._core.domain import Domain, judging_rules, rules_fingerprint
from pytest_sopbench._core.gates.calibration import (
    Doubtful,
    JudgedField,
    JudgeReport,
)
from pytest_sopbench._core.gates.conditions import GateSpec
from pytest_sopbench._core.judging import Asking
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.reconstruct import Judges, rescore
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._sessions.event_logs import GONE as LOG_IS_GONE
from pytest_sopbench._sessions.event_logs import kept_log
from pytest_sopbench._sessions.header import SessionHeader, SessionOptions, made_of
from pytest_sopbench._sessions.reader import refuse_doubted
from pytest_sopbench._sessions.saved import (
    SavedSession,
    planned_records,
    recorded_gates,
    summarized,
)
from pytest_sopbench.errors import SessionFileError

GONE = "its domain has no such task; is it renamed or its row deleted?"


@dataclass(frozen=True, slots=True, kw_only=True)
class RescoredSession:
    """A session that was judged again.

    `changed` are pairs of a run before and after, if its outcome is another. `refused` are
    the runs that cannot be judged from what was kept, by the reason. `gates` are those of the
    session.
    """

    header: SessionHeader
    records: tuple[RunRecord, ...]
    gates: tuple[GateSpec, ...] = ()
    changed: tuple[tuple[RunRecord, RunRecord], ...] = ()
    refused: Mapping[str, tuple[RunRecord, ...]] = field(
        default_factory=dict[str, tuple[RunRecord, ...]]
    )

    def masked_by(self, redaction: Redaction) -> RescoredSession:
        """Return it as it may be written: those who were asked again may have told a secret."""
        return replace(
            self,
            records=tuple(redaction.part(one) for one in self.records),
            changed=tuple((old, redaction.part(new)) for old, new in self.changed),
        )

    def summaries(self, domains: Mapping[str, Domain]) -> Mapping[str, Summary]:
        """Return what the runs come to, counted as a session of these domains counts them."""
        fields = {name: domain.fields for name, domain in domains.items()}
        return summarized(self.records, fields, self.gates)


def rescore_session(
    saved: SavedSession,
    domains: Mapping[str, Domain],
    scoring: Scoring,
    asking: Mapping[str, Asking] | None = None,
    *,
    doubtful: Doubtful | None = None,
    judged: Sequence[JudgedField] = (),
) -> RescoredSession:
    """Judge every run of a session again.

    Args:
        saved: the session.
        domains: those of the session, as they are today.
        scoring: whose rules decide.
        asking: asks those who compare fields, by domain; if it is not given for one, what they
            found when the runs were made is what is judged by.
        doubtful: model judges on which no gate may rest today; `None` if nothing is known of
            them that the session does not say itself.
        judged: how far model judges are calibrated today, if that is known.

    Raises:
        SessionFileError: it is a slim baseline, which holds no answers; or it is damaged; or an
            event log that a record names is.
    """
    if saved.slim:
        msg = f"{saved.path}: a slim baseline holds no answers to judge"
        raise SessionFileError(msg, hint="rescore the session it was made of, and approve it again")
    refuse_doubted(saved)
    judges = _judges(saved, domains, scoring, asking or {})
    options = saved.header.options
    # How far model judges can be relied on today, if that is known.
    if doubtful is not None:
        options = replace(options, doubtful=doubtful)
    if judged:
        told = options.judge or JudgeReport()
        options = replace(options, judge=replace(told, fields=tuple(judged)))
    places = {
        name: {task: place for place, task in enumerate(domain.task_ids)}
        for name, domain in domains.items()
    }
    records: list[RunRecord] = []
    refused: dict[str, list[RunRecord]] = {}
    changed: list[tuple[RunRecord, RunRecord]] = []
    for record in planned_records(saved):
        place = places[record.domain].get(record.task)
        if place is None:
            refused.setdefault(GONE, []).append(record)
            continue
        task = domains[record.domain].tasks[place]
        # What was never seen has no hash of its own, and nothing in it depends on one.
        known = record if record.task_hash else replace(record, task_hash=task.hash)
        done = rescore(judges[record.domain], task, known, _trace(saved.path, record))
        if done.why:
            refused.setdefault(done.why, []).append(record)
        elif done.record.outcome is not record.outcome:
            changed.append((record, done.record))
        records.append(done.record)
    return RescoredSession(
        header=_header(saved, judges, scoring, options),
        records=tuple(records),
        gates=recorded_gates(saved),
        changed=tuple(changed),
        refused={why: tuple(runs) for why, runs in refused.items()},
    )


def scoring_of(header: SessionHeader) -> Scoring:
    """Return whose rules a session was judged by."""
    return Scoring(header.options.scoring or Scoring.EXACT.value)


def _judges(
    saved: SavedSession,
    domains: Mapping[str, Domain],
    scoring: Scoring,
    asking: Mapping[str, Asking],
) -> Mapping[str, Judges]:
    off = saved.header.options.contract == "off"
    comparers = {
        name: asking[name].identities if name in asking else one.comparers
        for name, one in saved.header.domains.items()
    }
    for domain in domains.values():
        if domain.document is not None and Scoring.PUBLISHED in {scoring, scoring_of(saved.header)}:
            refuse_without_libraries(domain.name)
    before = {
        name: replace(
            judging_rules(domain),
            scoring=scoring_of(saved.header),
            contract=None if off else domain.contract,
            comparers=comparers.get(name, {}),
        )
        for name, domain in domains.items()
    }
    same = rules_fingerprint(before) == saved.header.judging
    return {
        name: Judges(
            before=before[name] if same else None,
            after=replace(before[name], scoring=scoring),
            asking=asking.get(name),
        )
        for name in domains
    }


def _header(
    saved: SavedSession,
    judges: Mapping[str, Judges],
    scoring: Scoring,
    options: SessionOptions,
) -> SessionHeader:
    before = scoring_of(saved.header).value
    # Variants are not judged again, and what they came to before says nothing by other rules.
    options = replace(options, scoring=scoring.value, rescored=before, variants={})
    judging = rules_fingerprint({name: one.after for name, one in judges.items()})
    return replace(
        made_of(saved.header, saved.header.identity, "rescored", judging),
        options=options,
        judging=judging,
        domains={
            name: replace(
                one,
                judging=rules_fingerprint({name: judges[name].after}),
                comparers=judges[name].after.comparers,
            )
            for name, one in saved.header.domains.items()
        },
    )


def _trace(session: Path, record: RunRecord) -> Trace | None:
    """Return what the event log of a run holds, or `None` if none is there any more."""
    kept = kept_log(session, record)
    if kept.why and kept.why != LOG_IS_GONE:
        msg = f"{kept.path}: {kept.why}"
        raise SessionFileError(msg, hint="without it, less of the session can be judged")
    return kept.trace
