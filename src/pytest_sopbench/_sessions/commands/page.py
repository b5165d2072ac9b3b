"""The page on a saved session: the one that makes it, for the session itself and for later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._core.comparing.comparison import SessionComparison
from pytest_sopbench._core.comparing.leaderboard import leaderboard_of
from pytest_sopbench._core.gates.conditions.summary_gates import GateSpec, bounded
from pytest_sopbench._core.gates.decide import Decision
from pytest_sopbench._core.gates.judge_report import read_judge_report
from pytest_sopbench._core.gates.page_sources import PageSources
from pytest_sopbench._core.gates.session_page import SessionPage
from pytest_sopbench._core.model.keys import GroupKey, TaskName, agents_of
from pytest_sopbench._core.records.replayed import is_replayed
from pytest_sopbench._core.variants.findings import findings
from pytest_sopbench._sessions.reading.planned import (
    planned_records,
    selection_of,
    summaries_of,
)
from pytest_sopbench._sessions.reading.reader import SavedSession

from .gate import forgiven_in, recorded_failures


def session_page(
    saved: SavedSession,
    decision: Decision,
    *,
    comparison: SessionComparison | None = None,
    remarks: Sequence[str] = (),
    sources: PageSources | None = None,
    gates: Sequence[GateSpec] | None = None,
) -> SessionPage:
    """Return what a page tells of a session.

    Args:
        saved: the session.
        decision: what came of its gates.
        comparison: with a baseline, where there is one.
        remarks: what must not go unsaid, beside what the file tells.
        sources: where a format finds what stands in no run of the session.
        gates: those that were asked instead of the session's own.
    """
    # A number of failed tests has a line of its own; that it is unknown stands among the gates.
    # Without a gate nothing is decided, and other tests that failed are known all the same.
    is_told = bool(decision.failures) or not (decision.gates or decision.not_evaluated)
    failures = (recorded_failures(saved) or 0) if is_told else 0
    records = planned_records(saved)
    groups = dict.fromkeys(GroupKey(one.domain, one.agent) for one in records)
    summaries = summaries_of(saved)
    if gates is not None:
        summaries = bounded(summaries, gates, agents_of(groups))
    found = {group: summaries[group.title(groups)] for group in groups}
    return SessionPage(
        agent=saved.header.agent,
        records=records,
        leaderboard=leaderboard_of(found, records, may_fail=forgiven_in(saved).answers),
        summaries=summaries,
        judge=read_judge_report(saved.header.options.judge, saved.header.options.doubtful),
        gates=(*decision.gates, *decision.entries, *(() if failures else decision.failures)),
        not_evaluated=decision.not_evaluated,
        remarks=(*_remarks_of(saved), *remarks),
        facts=_facts_of(saved),
        comparison=comparison,
        failures=failures,
        forgiven=forgiven_in(saved),
        sources=sources,
        variants=tuple(
            findings(saved.header.options.variants, ((one.key, one.outcome) for one in records))
        ),
    )


def _facts_of(saved: SavedSession) -> Mapping[str, str]:
    """Return what a reader may need to find a session again, by name; unknown is empty."""
    header = saved.header
    scoring = header.options.scoring
    commit = (
        f"{header.git.commit[:12]}{' and changes' if header.git.dirty else ''}"
        if header.git
        else ""
    )
    return {
        "started": header.started,
        "commit": commit,
        "pytest-sopbench": header.plugin,
        "selected by": " ".join(selection_of(saved)),
        "scoring": "" if scoring == "exact" else scoring,
        "replayed": _replayed(saved),
    }


def _replayed(saved: SavedSession) -> str:
    """Say how many runs asked no model, since their traffic came from recordings."""
    number = sum(map(is_replayed, saved.records))
    return f"{number} of {len(saved.records)} runs, from recorded model traffic" if number else ""


def _remarks_of(saved: SavedSession) -> tuple[str, ...]:
    """Return what must not go unsaid of a session."""
    published = saved.header.options.scoring == "published"
    remark = "judged by the published scorer's rules, not by ours"
    return (*((remark,) if published else ()), *saved.problems, *_forgiven_rules(saved))


def _forgiven_rules(saved: SavedSession) -> Iterator[str]:
    """Say which rules were broken that may be, as nobody must think that they held."""
    forgiven = forgiven_in(saved)
    if not forgiven.rules:
        return
    counts = Counter(
        (TaskName(one.domain, one.task), rule)
        for one in planned_records(saved)
        for rule in forgiven.broken_rules(one)
    )
    for (task, rule), count in counts.items():
        yield f"{task} may break the rule {rule}, and did, outside gates (runs: {count})"
