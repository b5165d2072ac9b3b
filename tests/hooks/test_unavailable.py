"""A provider that is away says nothing of the agent: no rate is made of runs that it cut short."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main
from tests.builders.tables import CHANCE, METRICS

AGENTS = """
from dataclasses import dataclass

from habits import number, right
from pytest_sopbench import Unavailable


def away(inputs, tools):
    if number(inputs) in {1, 4}:
        raise Unavailable("busy")
    return right(inputs, tools)


@dataclass(frozen=True)
class FrozenError(Exception):
    reason: str


def away_by_name(inputs, tools):
    if number(inputs) in {1, 4}:
        raise FrozenError("busy")
    return right(inputs, tools)


async def away_later(inputs, tools):
    return away_by_name(inputs, tools)


def away_on_20(inputs, tools):
    if number(inputs) == 20:
        raise Unavailable("busy")
    return right(inputs, tools)


def away_in_the_ward(inputs, tools):
    if inputs["sample_id"] > "T_06":
        raise Unavailable("busy")
    return right(inputs, tools)


def away_after_harm(inputs, tools):
    if number(inputs) == 1:
        tools.call("measure", sample_id="T_01")
        tools.call("measure", sample_id="T_01")
    return away(inputs, tools)
"""

AWAY = ("--sop-domain=lab", "--sop-agent=trouble:away")
TOLERANT = "--sop-gate=unavailable=0.5"
NO_RATE = "n/a (2 of 6 unavailable)"


@pytest.fixture(autouse=True)
def trouble(lab: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(trouble=AGENTS)


def sopbench(*arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments])
    assert result.exit_code in {0, 3}, result.output
    return result.output


def test_no_rate_is_printed_and_n_stays(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(*AWAY, *workers)

    result.stdout.fnmatch_lines(
        [
            f"TSR      {NO_RATE}; correct, 4 of 6",
            f"ECR      {NO_RATE}; answered, 4 of 6   2 unavailable",
        ]
    )


@pytest.mark.parametrize("agent", ["away_by_name", "away_later"])
@pytest.mark.parametrize(
    "mode", [(), ("--sop-concurrency=2",), ("-n2",)], ids=["plain", "in flight", "two workers"]
)
def test_an_exception_that_cannot_be_changed_is_read_as_any_other(
    pytester: pytest.Pytester, saved: Callable[[], Any], agent: str, mode: tuple[str, ...]
) -> None:
    """Whoever writes to an exception on its way, such as `contextlib`, makes another one of it."""
    named = "sop_unavailable_exceptions=trouble.FrozenError"

    pytester.runpytest("--sop-domain=lab", f"--sop-agent=trouble:{agent}", "-o", named, *mode)

    outcomes = [run["outcome"] for run in saved().runs]
    away, right = "unavailable", "correct"
    assert [away, right, right, away, right, right] == outcomes


def test_one_line_has_no_rate_either(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*AWAY, "-q")

    result.stdout.fnmatch_lines([f"lab: TSR {NO_RATE} 4 of 6, 0 wrong, 2 not answered"])


def test_a_closer_look_has_no_rate_either(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*AWAY, "-v")

    result.stdout.fnmatch_lines(
        ["C-TSR    n/a *", "*tool accuracy n/a*", "by expected answer*TSR", "  fail * n/a"]
    )


def test_below_the_bound_the_count_stands_beside_the_rate(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    make_domain("ward", tasks=20)
    session = ("--sop-domain=ward", "--sop-agent=trouble:away_on_20")

    whole, short = pytester.runpytest(*session), pytester.runpytest(*session, "-q")

    whole.stdout.fnmatch_lines(["TSR    95.0% correct, 19 of 20*", "ECR    95.0% *1 unavailable"])
    short.stdout.fnmatch_lines(["ward: TSR 95.0% * 19 of 20, 0 wrong, 1 not answered (1 unavai*"])


def test_the_gate_that_tolerates_them_lets_rates_be_told(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*AWAY, TOLERANT, "--sop-fail-under=0.5", "--sop-save=kept")

    result.stdout.fnmatch_lines(["TSR    66.7% correct, 4 of 6*", "ECR *2 unavailable"])
    assert "TSR 66.7%, 4 of 6 runs correct (2 unavailable)" in sopbench("report", "kept")


def test_no_gate_is_green_by_it(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*AWAY, "--sop-fail-under=0.1")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["gate   TSR >= 10% inconclusive (got n/a): 33.33% of the runs*"])


def test_every_rate_of_a_report_is_null(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*AWAY, "--sop-save=kept", "--sop-fail-under=0.1")

    document = json.loads(sopbench("report", "kept", "--to=json"))

    counted = document["domains"]["lab"]
    assert dict.fromkeys(METRICS) == {name: counted[name] for name in METRICS}
    assert (6, 4) == (counted["runs"], counted["correct"])
    means = {name: rate for name, rate in document["total"]["mean"].items() if name != CHANCE}
    assert dict.fromkeys(METRICS) == means
    assert [None] == [gate["got"] for gate in document["verdict"]["gates"]]


def test_pages_have_no_rate(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*AWAY, "--sop-save=kept")

    markdown, html = sopbench("report", "kept"), sopbench("report", "kept", "--to=html")

    assert f"TSR {NO_RATE}, 4 of 6 runs correct" in markdown
    assert "| lab | 4 of 6, 2 unavailable | n/a |  | n/a | n/a |" in markdown
    assert 3 == html.count('<p class="value">n/a</p>')
    assert '<circle class="point"' not in html


def test_sessions_beside_one_another_have_no_rate(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right", "--sop-save=before")
    pytester.runpytest(*AWAY, "--sop-save=now")

    found = sopbench("compare", "before", "now", "before").splitlines()

    assert "n/a  n/a" == "  ".join(found[2].split()[1:3])
    assert "now: 2 of 6 unavailable" in found


def test_other_gates_asked_of_a_session_say_what_its_page_tolerates(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest(*AWAY, "--sop-save=kept")

    page = sopbench("report", "kept", "--gate=unavailable=0.5", "--gate=tsr=0.1")

    assert "TSR 66.7%, 4 of 6 runs correct (2 unavailable)" in page


def test_an_agent_without_a_rate_stands_last(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "--sop-domain=lab",
        "--sop-agent=trouble:away",
        "--sop-agent=habits:raising",
        "--sop-agent=habits:right",
    )

    result.stdout.fnmatch_lines(
        [
            "*leaderboard*",
            "*right* 100.0 *",
            "*raising* 0.0 *",
            "*away*n/a *n/a *n/a*",
            "note   *away: 2 of 6 unavailable",
        ]
    )


def test_a_domain_nobody_knows_anything_of_is_left_out_of_no_mean(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    """A mean over the domains that are left would be one over survivors."""
    make_domain("ward", tasks=7)

    result = pytester.runpytest(
        "--sop-domain=lab", "--sop-domain=ward", "--sop-agent=trouble:away_in_the_ward"
    )

    result.stdout.fnmatch_lines(
        [
            "TSR   100.0% correct, 6 of 6*",
            "TSR      n/a (1 of 7 unavailable); correct, 6 of 7",
            "mean   TSR n/a   ECR n/a",
            "TSR      n/a (1 of 13 unavailable); correct, 12 of 13",
        ]
    )


def test_shards_together_are_bounded_together(pytester: pytest.Pytester, make_domain: Any) -> None:
    make_domain("ward", tasks=20)
    session = ("--sop-domain=ward", "--sop-agent=trouble:away_on_20")
    for number in range(1, 5):
        pytester.runpytest(*session, f"--sop-shard={number}/4", f"--sop-save=part{number}")

    sopbench("merge", "part1", "part2", "part3", "part4", "--out", "whole.jsonl")

    assert "TSR 95.0%, 19 of 20 runs correct (1 unavailable)" in sopbench("report", "whole.jsonl")
    saved = Path("whole.jsonl").read_text().splitlines()
    assert 0.95 == json.loads(saved[-1])["domains"]["ward"]["tsr"]


CONTRACT = {
    "rules": [
        {"id": "measure-first", "requires": {"all_of": ["measure"]}},
        {"id": "measure-once", "at_most": {"measure": 1}},
    ]
}


def test_rules_are_not_held_against_runs_that_were_cut_short_but_for_what_they_did(
    pytester: pytest.Pytester, lab: Path
) -> None:
    path = lab / "metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "contract": CONTRACT}))

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=trouble:away_after_harm", TOLERANT)

    result.stdout.fnmatch_lines(
        [
            "rules  contract 66.7% (4 of 6 runs, 1 run stopped before a call)   1 rule held",
            "       measure-once broken in 1 of 5",
        ]
    )
