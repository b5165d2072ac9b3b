"""Several domains: the mean over domains, and all runs pooled."""

from __future__ import annotations

import pytest

from pytest_sopbench._core.metrics.summary_json import total_to_json
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from tests.builders import runs


def run(domain: str, outcome: Outcome, expected: str = "yes") -> RunRecord:
    return runs.run("t", outcome, domain=domain, expected={"answer": expected})


SMALL = summary_of([run("small", Outcome.CORRECT), run("small", Outcome.ERROR, "no")])
LARGE = summary_of([run("large", Outcome.WRONG)] * 6)


def test_the_mean_weighs_domains_and_the_pool_weighs_runs() -> None:
    total = total_of({"small": SMALL, "large": LARGE})

    assert total.domains == 2
    assert total.means["tsr"] == 0.25
    assert total.pooled.tsr == 1 / 8
    assert total.pooled.ecr == 7 / 8


def test_a_domain_counts_once_however_many_agents_ran_on_it() -> None:
    total = total_of({"small (a:one)": SMALL, "small (a:two)": LARGE, "large": SMALL})

    assert total.domains == 2
    assert total.means["tsr"] == (0.25 + 0.5) / 2
    assert total.pooled.runs == 10


def test_chance_answers_each_domain_with_its_own_label() -> None:
    total = total_of({"small": SMALL, "large": LARGE})

    assert total.means["chance"] == 0.75
    assert total.chance == 7 / 8


def test_chance_is_unknown_where_one_domain_cannot_tell() -> None:
    masked = summary_of([RunRecord(domain="masked", task="t", outcome=Outcome.CORRECT)])

    total = total_of({"small": SMALL, "masked": masked})

    assert total.chance is None
    assert total.means["chance"] == 0.5


def test_a_rate_that_no_domain_has_has_no_mean() -> None:
    total = total_of({"small": SMALL})

    assert total.means["tool_accuracy"] is None


def test_labels_of_different_domains_are_not_mixed() -> None:
    total = total_of({"small": SMALL, "large": LARGE})

    assert total.pooled.by_expected == {}
    assert total.pooled.answers == {}


@pytest.mark.parametrize(
    "summaries",
    [pytest.param({}, id="no domain"), pytest.param({"none": summary_of([])}, id="no run")],
)
def test_a_total_of_nothing_has_no_rates(summaries: dict[str, object]) -> None:
    total = total_of(summaries)  # type: ignore[arg-type]  # summaries, or nothing

    assert total.pooled.tsr is None
    assert total.chance is None
    assert total.means["tsr"] is None


def test_the_json_of_a_total_holds_means_and_pool() -> None:
    data = total_to_json(total_of({"small": SMALL, "large": LARGE}))

    assert data["domains"] == 2
    assert data["mean"]["tsr"] == 0.25
    assert data["pooled"]["runs"] == 8
    assert data["pooled"]["tsr"] == 1 / 8
    assert data["pooled"]["chance"] == 7 / 8
    assert data["pooled"]["tool_accuracy"] is None
