"""Several domains together: the mean over domains, and all runs pooled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_sopbench._core.model.task import domain_of

from .counts import ratio, without_paths
from .metric import CHANCE, METRICS, rates_of
from .summary import EMPTY, Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Several domains together.

    `means` are over the domains that have the rate at all; a rate that no domain has is `None`, and
    so is every rate where too many runs of one domain were unavailable: no domain is left out.
    The rate of a domain on which several agents ran is the mean of theirs.
    `pooled` adds the counts of all domains, without labels and rules, which mean nothing across
    domains.
    `most_frequent` are the runs that always giving each domain's most frequent answer would
    have right, or `None` if one domain cannot tell. `classes` are the totals of the domains of
    each class, where domains have one.
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
            name: None if _is_open(name, pooled) else _mean_over(rates.values(), name)
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
        documents=without_paths(summary.documents),
    )


def _is_open(name: str, pooled: Summary) -> bool:
    """Whether nobody can tell the mean, since a domain has no rate where it should have one."""
    fault = name in METRICS and METRICS[name].measured(pooled).fault
    return bool(fault) or (pooled.unmeasured and name != CHANCE)


def _mean_over(domains: Iterable[Sequence[Mapping[str, float | None]]], name: str) -> float | None:
    return _mean([_mean([rates[name] for rates in agents]) for agents in domains])


def _mean(rates: list[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if known else None
