"""Several domains together: the mean over domains, and all runs pooled; and all of it as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pytest_sopbench._core.model.task import agent_of, domain_of

from .counts import (
    FieldPairs,
    documents_to_json,
    ratio,
)
from .metric import CHANCE, METRICS, rates_of
from .summary import EMPTY, Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Several domains together.

    `means` are over the domains that have the rate at all; a rate that no domain has is `None`, and
    so is every rate if too many runs of one domain were unavailable: no domain is left out.
    The rate of a domain on which several agents ran is the mean of theirs.
    `pooled` adds the counts of all domains, without labels and rules, which mean nothing across
    domains.
    `most_frequent` are the runs that always giving each domain's most frequent answer would
    have right, or `None` if one domain cannot tell. `classes` are the totals of the domains of
    each class, if domains have one.
    """

    domains: int
    means: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    pooled: Summary = EMPTY
    most_frequent: int | None = None
    classes: Mapping[str, Total] = field(default_factory=dict[str, "Total"])

    @property
    def chance(self) -> float | None:
        """The pooled TSR of always giving each domain's most frequent answer."""
        return None if self.most_frequent is None else ratio(self.most_frequent, self.pooled.runs)


def total_of(summaries: Mapping[str, Summary]) -> Total:
    """Put the summaries of groups together; a domain counts once, however many agents it had."""
    return replace(_total_of(summaries), classes=classes_of(summaries))


def classes_of(summaries: Mapping[str, Summary]) -> Mapping[str, Total]:
    """Put the summaries of the domains of each class together, by the name of the class."""
    names = sorted({one.documents.domain_class for one in summaries.values()} - {""})
    return {
        name: _total_of(
            {key: one for key, one in summaries.items() if one.documents.domain_class == name}
        )
        for name in names
    }


def _total_of(summaries: Mapping[str, Summary]) -> Total:
    values = tuple(summaries.values())
    rates: dict[str, list[Mapping[str, float | None]]] = {}
    for title, summary in summaries.items():
        rates.setdefault(domain_of(title), []).append(rates_of(summary))
    most = [summary.most_frequent for summary in values]
    pooled = sum(values, EMPTY)
    return Total(
        domains=len(rates),
        means={
            name: None
            if _is_open(name, pooled)
            else _mean([_mean([one[name] for one in agents]) for agents in rates.values()])
            for name in rates_of(EMPTY)
        },
        pooled=without_labels(pooled),
        most_frequent=sum(one for one in most if one is not None) if None not in most else None,
    )


def without_labels(summary: Summary) -> Summary:
    """Return a summary without what means nothing across domains: labels, fields and rules."""
    return replace(
        summary,
        by_expected={},
        by_class={},
        answers={},
        wrong_pairs={},
        mismatched={},
        by_field={},
        rules=(),
        documents=replace(summary.documents, paths={}),
    )


def _is_open(name: str, pooled: Summary) -> bool:
    """Whether nobody can tell the mean, since a domain has no rate though it should have one."""
    fault = name in METRICS and METRICS[name].measured(pooled).fault
    return bool(fault) or (pooled.unmeasured and name != CHANCE)


def _mean(rates: list[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if known else None


# A summary as the last line of a saved session holds it; totals as a program reads them.

_COUNTS = ("tasks", "runs", "completed", "correct")
_PLAIN = ("only_published", "reruns", "without_calls")


def summary_to_json(summary: Summary) -> dict[str, Any]:
    """Return counts and rates; a rate with nothing to divide is `None`, JSON's `null`."""
    return {
        **{name: getattr(summary, name) for name in _COUNTS},
        **rates_of(summary),
        "latency_median_s": summary.latency_median,
        "latency_p95_s": summary.latency_p95,
        "calls_per_run": summary.calls_per_run,
        "outcomes": {outcome.value: n for outcome, n in summary.outcomes.items()},
        "tools": {name: asdict(one) for name, one in summary.tools.items()},
        "usage": {name: asdict(one) for name, one in summary.usage.items()},
        "mismatched": dict(summary.mismatched),
        "by_field": {
            name: {"runs": one.runs, "right": one.right} for name, one in summary.by_field.items()
        },
        "by_number": [[number, one.runs, one.right] for number, one in summary.by_number.items()],
        "disputed": {
            **asdict(summary.disputed.counts),
            "reasons": dict(summary.disputed.reasons),
        },
        **{name: getattr(summary, name) for name in _PLAIN},
        "trials": [[*kind, tasks] for kind, tasks in summary.trials_by.items()],
        "rules": [asdict(one) for one in summary.rules],
        "contract": asdict(summary.contract),
        "grounded": asdict(summary.grounded),
        "unneeded": {**asdict(summary.unneeded), "unneeded": summary.unneeded.unneeded},
        **({"wrong_states": summary.wrong_states} if summary.wrong_states else {}),
        **({"unmade": asdict(summary.unmade)} if summary.unmade.runs else {}),
        **({"documents": documents_to_json(summary.documents)} if summary.documents.runs else {}),
        "by_expected": {label: asdict(one) for label, one in summary.by_expected.items()},
        **(
            {"by_class": {label: asdict(one) for label, one in summary.by_class.items()}}
            if summary.by_class
            else {}
        ),
        "answers": _pairs(summary.answers),
        "wrong_pairs": _pairs(summary.wrong_pairs),
        "durations_s": list(summary.durations),
        **(
            {"measured": {name: asdict(one) for name, one in summary.measured.items()}}
            if summary.measured
            else {}
        ),
    }


def total_to_json(total: Total) -> dict[str, Any]:
    """Return the means over domains, and the pooled counts and rates without tables."""
    pooled = summary_to_json(total.pooled)
    pooled["chance"] = total.chance
    tallies = ("trials", "contract", "grounded", "unneeded")
    kept = (*_COUNTS, *rates_of(total.pooled), "outcomes", "usage", *_PLAIN, *tallies)
    kept += ("measured",) if "measured" in pooled else ()
    return {
        "domains": total.domains,
        "mean": dict(total.means),
        "pooled": {name: pooled[name] for name in kept},
        **({"classes": classes_to_json(total.classes)} if total.classes else {}),
    }


def classes_to_json(classes: Mapping[str, Total]) -> dict[str, Any]:
    """Return for each class of domains its means and its pooled rates, each with its n."""
    return {
        name: {
            "domains": one.domains,
            "runs": one.pooled.runs,
            "mean": dict(one.means),
            "pooled": rates_of(one.pooled),
        }
        for name, one in classes.items()
    }


def totals_to_json(summaries: Mapping[str, Summary]) -> dict[str, Any]:
    """Return the total; if there are several agents that of each, and none of all of them.

    Args:
        summaries: of each group, by what it is called.
    """
    agents = dict.fromkeys(map(agent_of, summaries))
    if len(agents) < 2:  # noqa: PLR2004 - one agent has one total
        return {"total": total_to_json(total_of(summaries))}
    by_agent = {
        agent: {name: one for name, one in summaries.items() if agent_of(name) == agent}
        for agent in agents
    }
    totals = {agent: total_to_json(total_of(mine)) for agent, mine in by_agent.items()}
    return {"total": None, "agents": totals}


def _pairs(pairs: FieldPairs) -> dict[str, dict[str, dict[str, int]]]:
    nested: dict[str, dict[str, dict[str, int]]] = {}
    for name, table in pairs.items():
        rows = nested.setdefault(name, {})
        for (expected, actual), number in table.items():
            rows.setdefault(expected, {})[actual] = number
    return nested
