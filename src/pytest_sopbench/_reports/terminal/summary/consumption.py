"""What a run took: time, calls, tokens and money."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._reports.text.layout import packed
from pytest_sopbench._reports.text.numbers import amount, counted, money, seconds, tokens_text

from .rates import GAP, LABEL


def known_lines(summary: Summary) -> Iterator[str]:
    """Yield what is known of time, tokens and cost; nothing where nothing is."""
    parts = list(_known_parts(summary))
    if parts:
        first = f"{'a run':<{LABEL}}{parts[0]}"
        yield from packed(first, parts[1:], gap=GAP, indent=LABEL)


def all_lines(summary: Summary) -> Iterator[str]:
    """Yield the same with what is unknown, the slowest runs and the calls."""
    mean = {name: one.mean for name, one in summary.usage.items()}
    median, slowest = seconds(summary.latency_median), seconds(summary.latency_p95)
    parts = [
        f"tool calls {amount(summary.calls_per_run)}",
        f"model calls {amount(mean.get('model_calls'))}",
        tokens_text(mean),
        f"cost {money(mean.get('cost_usd'))}{_whole_cost(summary)}",
    ]
    first = f"{'a run':<{LABEL}}median {median}, p95 {slowest}"
    yield from packed(first, parts, gap=GAP, indent=LABEL)


def _known_parts(summary: Summary) -> Iterator[str]:
    if summary.latency_median is not None:
        yield f"median {seconds(summary.latency_median)}"
    for name, word in {"input_tokens": "tokens in", "output_tokens": "tokens out"}.items():
        found = summary.usage.get(name)
        if found is not None and found.known:
            # A mean over some of the runs must not read as one over all of them.
            part = f" (of {found.known} runs)" if found.known < summary.runs else ""
            yield f"{word} {amount(found.mean)}{part}"
    cost = summary.usage.get("cost_usd")
    if cost is not None and cost.known:
        yield f"cost {money(cost.mean)}{_whole_cost(summary)}"


def _whole_cost(summary: Summary) -> str:
    cost = summary.usage.get("cost_usd")
    if not cost:
        return ""
    each = f"{money(summary.cost_per_correct)} per correct run"
    return f" ({money(cost.total)} in {counted(cost.known, 'run')}), {each}"
