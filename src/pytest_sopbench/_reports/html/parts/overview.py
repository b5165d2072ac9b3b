"""The first screen: the verdict, the rates, and what a run took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_sopbench._core.comparing.comparison import (
    GroupComparison,
)
from pytest_sopbench._core.gates.conditions.summary_gates import GateState
from pytest_sopbench._core.gates.session_page import SessionPage
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.model.keys import domain_of
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.comparison.comparison import change_text
from pytest_sopbench._reports.terminal.page_verdict import page_verdict, ungated_failures
from pytest_sopbench._reports.text.numbers import (
    NOT_AVAILABLE,
    amount,
    counted,
    money,
    of_runs,
    percent,
    seconds,
    unavailable,
)

from .charts import Rate, rate_of, share
from .comparison import FAILS, HOLDS, OPEN

_SIGNS: Final = {
    GateState.HOLDS: HOLDS,
    GateState.FAILS: FAILS,
    GateState.INCONCLUSIVE: OPEN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLine:
    """One gate as a row: what came of it, what it asks, what it found."""

    state: str
    word: str
    where: str
    asked: str
    got: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A number with its name; `was` is that of the baseline, `more` what it is made of."""

    name: str
    value: str
    more: str = ""
    was: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How many runs ended so."""

    outcome: str
    count: int
    share: float
    x: float


def state_of(page: SessionPage) -> str:
    """Return what the verdict comes to."""
    states = {one.state for one in page.gates}
    if GateState.FAILS in states or page.failures:
        return FAILS
    if not states and not page.not_evaluated and ungated_failures(page):
        return FAILS
    if page.not_evaluated or GateState.INCONCLUSIVE in states or not states:
        return OPEN
    return HOLDS


def verdict_of(page: SessionPage) -> str:
    return page_verdict(page)


def gate_lines(page: SessionPage) -> Sequence[GateLine]:
    return [
        GateLine(
            state=_SIGNS[one.state],
            word=one.state.value,
            where=one.where,
            asked=one.asked,
            got=one.found.removeprefix(one.state.value).strip(),
            why=one.why,
        )
        for one in page.gates
    ]


def remark_lines(page: SessionPage) -> Iterator[str]:
    """Yield what must not go unsaid beside the gates."""
    if page.not_evaluated:
        yield f"not evaluated: {page.not_evaluated}"
    if page.failures:
        yield f"{counted(page.failures, 'test')} failed that no gate forgives"
    if page.apart:
        asked = page.without
        correct = of_runs(asked.correct, asked)
        yield f"without answers that may be wrong: TSR {percent(asked.tsr)}, {correct}"
    yield from page.remarks


def domains_of(page: SessionPage) -> Sequence[str]:
    return [*dict.fromkeys(map(domain_of, page.summaries))]


def rates(summary: Summary, compared: GroupComparison | None = None) -> Sequence[Rate]:
    """Return TSR, ECR and C-TSR, with what they were over the paired tasks."""
    ecr = summary.interval(summary.completed, summary.runs)
    c_tsr = summary.interval(summary.correct, summary.completed)
    found = (
        rate_of("tsr", "TSR", summary.tsr, summary.tsr_bounds),
        rate_of("ecr", "ECR", summary.ecr, ecr),
        rate_of("c_tsr", "C-TSR", summary.c_tsr, c_tsr),
    )
    counts = {
        "tsr": f"{summary.correct} of {summary.runs} runs correct",
        "ecr": f"{summary.completed} of {summary.runs} completed",
        "c_tsr": f"{summary.correct} of {summary.completed} completed correct",
    }
    away = f"; {unavailable(summary)}" if summary.unavailable else ""
    return [_with_before(replace(one, note=f"{counts[one.name]}{away}"), compared) for one in found]


def facts_of(summary: Summary, compared: GroupComparison | None = None) -> Sequence[Fact]:
    """Return what a run took: tokens, cost, time and calls."""
    was = compared.baseline if compared is not None and compared.paired else None
    cost = summary.usage.get("cost_usd")
    total = f"{money(cost.total)} in {counted(cost.known, 'run')}" if cost else ""
    each = money(summary.cost_per_correct)
    p95, took = seconds(summary.latency_p95), seconds(sum(summary.durations))
    return [
        Fact(
            name="time of a run, median",
            value=seconds(summary.latency_median),
            more=f"p95 {p95}, all {took}" if summary.durations else "",
            was=_was(was, lambda one: seconds(one.latency_median)),
        ),
        Fact(
            name="tokens of a run",
            value=_tokens(summary),
            more=_token_parts(summary),
            was=_was(was, _tokens),
        ),
        Fact(
            name="cost of a run",
            value=money(_mean(summary, "cost_usd")),
            more=f"{total}; {each} per correct run" if total else "",
            was=_was(was, lambda one: money(_mean(one, "cost_usd"))),
        ),
        Fact(
            name="tool calls of a run",
            value=amount(summary.calls_per_run),
            more=_calls(summary),
            was=_was(was, lambda one: amount(one.calls_per_run)),
        ),
        *_procedure(summary, was),
    ]


def _procedure(summary: Summary, was: Summary | None) -> Iterator[Fact]:
    """Yield how the runs kept to the procedure, and what a guess would come to, where known."""
    told: tuple[tuple[str, Callable[[Summary], str], str], ...] = (
        (
            "tool accuracy",
            lambda one: percent(one.calls.accuracy) if one.calls.calls else NOT_AVAILABLE,
            f"{summary.calls.calls - summary.calls.bad} of {counted(summary.calls.calls, 'call')}",
        ),
        (
            "contract",
            lambda one: percent(one.contract_rate),
            f"{summary.contract.held} of {counted(summary.contract.runs, 'run')}",
        ),
    )
    for name, words, more in told:
        if words(summary) != NOT_AVAILABLE:
            yield Fact(name=name, value=words(summary), more=more, was=_was(was, words))
    if summary.chance is not None:
        # The right answers alone decide it, so no baseline had another one.
        yield Fact(name="chance", value=percent(summary.chance), more="by the most frequent answer")


def endings_of(page: SessionPage) -> Sequence[Ending]:
    """Return how many runs ended in which outcome, in the order of the glossary."""
    counts = Counter(one.outcome for one in page.records)
    endings: list[Ending] = []
    for outcome in Outcome:
        if counts[outcome]:
            x = round(sum(one.share for one in endings), 2)
            width = share(counts[outcome], len(page.records))
            endings.append(Ending(outcome=outcome.value, count=counts[outcome], share=width, x=x))
    return endings


def pooled_of(page: SessionPage) -> Summary:
    """Return what all runs of a session with one agent came to."""
    values = [*page.summaries.values()]
    return values[0] if len(values) == 1 else total_of(page.summaries).pooled


def run_facts(facts: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    return [(name, value) for name, value in facts.items() if value]


def _with_before(rate: Rate, compared: GroupComparison | None) -> Rate:
    change = compared.changes.get(rate.name) if compared is not None else None
    if change is None or change.before is None or change_text(change) == NOT_AVAILABLE:
        return rate
    return replace(
        rate,
        before=round(change.before * 100, 2),
        change=f"was {percent(change.before)}, {change_text(change)}",
    )


def _was(before: Summary | None, words: Callable[[Summary], str]) -> str:
    if before is None:
        return ""
    text = words(before)
    return "" if text == NOT_AVAILABLE else text


def _mean(summary: Summary, name: str) -> float | None:
    found = summary.usage.get(name)
    return found.mean if found else None


def _tokens(summary: Summary) -> str:
    sent, written = _mean(summary, "input_tokens"), _mean(summary, "output_tokens")
    return amount(None if sent is None or written is None else sent + written)


def _token_parts(summary: Summary) -> str:
    if _tokens(summary) == NOT_AVAILABLE:
        return ""
    parts = {"in": "input_tokens", "cached": "cached_tokens", "out": "output_tokens"}
    known = {word: _mean(summary, name) for word, name in parts.items()}
    return ", ".join(f"{word} {amount(one)}" for word, one in known.items() if one is not None)


def _calls(summary: Summary) -> str:
    calls = summary.calls
    if not calls.calls:
        return ""
    return f"{calls.bad} bad, {calls.failed} failed of {calls.calls}"
