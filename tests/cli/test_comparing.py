"""`sopbench compare`, and the slim baseline that is made for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Outcome, load_session
from tests.builders.judged import Usage
from tests.builders.saved import CallRecord, DomainHeader

Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]

TASKS = tuple(f"T{number}" for number in range(1, 7))

APPROVE = ("--reason", "as agreed", "--baseline", "main.jsonl")


def test_two_sessions_give_a_verdict(sopbench: Sopbench, save: Save, runs: Make) -> None:
    save("main", runs())
    save("now", runs("T2"))

    result = sopbench("compare", "main", "now")

    assert 0 == result.exit_code
    assert result.stdout.startswith("vs main  lost 1 (T2), gained 0,")


def test_a_session_compared_with_itself_shows_no_difference(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("main", runs("T2"))

    result = sopbench("compare", "main", "main")

    assert "lost 0, gained 0" in result.stdout
    assert "no difference shown" in result.stdout


def test_three_sessions_give_one_table(sopbench: Sopbench, save: Save, runs: Make) -> None:
    for name, wrong in (("main", ()), ("one", ("T1",)), ("two", ("T1", "T2"))):
        save(name, runs(*wrong, usage=Usage(cost_usd=0.5)))

    lines = sopbench("compare", "main", "one", "two").stdout.splitlines()

    assert ["session", "main", "one", "two"] == [line.split()[0] for line in lines]
    assert ["$0.50", "$0.60", "$0.75"] == [line.split()[-1] for line in lines[1:]]


@pytest.mark.parametrize(
    ("gate", "status"),
    [
        pytest.param("lost=1", 0, id="holds"),
        pytest.param("lost=0", 1, id="does not"),
        pytest.param("p=0.05", 3, id="too few tasks to show a loss"),
        pytest.param("grounded_tsr=0.5", 3, id="inconclusive"),
    ],
)
def test_with_a_gate_the_status_is_that_of_the_gate(
    sopbench: Sopbench, save: Save, runs: Make, gate: str, status: int
) -> None:
    save("main", runs())
    save("now", runs("T2"))

    result = sopbench("compare", "main", "now", "--gate", gate)

    assert status == result.exit_code
    assert "\ngate   " in result.stdout


def test_sessions_that_were_judged_by_other_rules_are_not_comparable(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("main", runs())
    save("now", runs(), judging="k")

    result = sopbench("compare", "main", "now")

    assert 3 == result.exit_code
    assert "not comparable" in result.stdout
    assert "sopbench rescore" in result.stdout


def test_tasks_that_options_left_out_are_not_missing(
    sopbench: Sopbench, save: Save, runs: Make, run_of: Make
) -> None:
    save("main", runs())
    save("now", [run_of("T1")], options={"selection": ["--sop-sample=first:1"]})

    result = sopbench("compare", "main", "now", "--gate", "lost=0", "--json")

    found = json.loads(result.stdout)["compared"][0]["pooled"]
    assert 0 == result.exit_code
    assert [] == found["aside"]
    assert 5 == found["left_out"]


def test_tasks_that_are_gone_are_named(
    sopbench: Sopbench, save: Save, runs: Make, run_of: Make
) -> None:
    save("main", runs())
    save("now", [run_of("T1")])

    result = sopbench("compare", "main", "now", "--gate", "lost=0")

    assert 3 == result.exit_code
    assert "not compared, only in the baseline: 5 tasks" in result.stdout


def test_domains_that_were_not_run_are_left_out(
    sopbench: Sopbench, save: Save, runs: Make, run_of: Make
) -> None:
    domains = {"refunds": DomainHeader(planned=TASKS), "claims": DomainHeader(planned=("C1",))}
    save("main", [*runs(), run_of("C1", domain="claims")], domains=domains)
    save("now", runs())

    result = sopbench("compare", "main", "now", "--gate", "lost=0")

    assert 0 == result.exit_code
    assert "domain claims is in the baseline and was not run here; left out" in result.stderr


@pytest.mark.parametrize(
    ("judging", "status"),
    [pytest.param("r", 0, id="alike"), pytest.param("other", 3, id="otherwise")],
)
def test_the_domain_that_both_have_decides_whether_they_are_comparable(
    sopbench: Sopbench, save: Save, runs: Make, judging: str, status: int
) -> None:
    """The hash of all domains together differs wherever their number does."""
    planned = tuple(f"T{number}" for number in range(1, 7))
    refunds = DomainHeader(planned=planned, judging="r")
    both = {"refunds": refunds, "claims": DomainHeader(planned=(), judging="c")}
    save("main", runs(), domains=both, judging="of both")
    one = {"refunds": DomainHeader(planned=planned, judging=judging)}
    save("now", runs(), domains=one, judging="of one")

    assert status == sopbench("compare", "main", "now").exit_code


def test_tasks_that_may_fail_are_not_lost(sopbench: Sopbench, save: Save, runs: Make) -> None:
    save("main", runs())
    save("now", runs("T2"), options={"quarantined": ["refunds/T2"]})

    result = sopbench("compare", "main", "now", "--gate", "lost=0")

    assert 0 == result.exit_code
    assert "not compared, may fail: 1 task (T2)" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("main",), "two sessions are needed", id="one"),
        pytest.param(
            ("main", "main", "main", "--gate", "lost=0"), "gates are checked of two", id="gates"
        ),
        pytest.param(("main", "shard"), "cannot be compared", id="shard"),
    ],
)
def test_wrong_usage_is_told(
    sopbench: Sopbench, save: Save, runs: Make, arguments: tuple[str, ...], message: str
) -> None:
    save("main", runs())
    save("shard", runs(), options={"selection": ["--sop-shard=1/2"]})

    result = sopbench("compare", *arguments)

    assert 2 == result.exit_code
    assert message in result.stderr


def test_a_slim_baseline_holds_outcomes_and_names_of_calls_and_nothing_else(
    sopbench: Sopbench, save: Save, run_of: Make, tmp_path: Path
) -> None:
    told = "what nobody may read"
    call = CallRecord(name="pay", arguments={"to": told}, result=told, error=told)
    run = run_of(
        "T2",
        Outcome.WRONG,
        trial=2,
        task_hash="h",
        text=told,
        reason=told,
        calls=(call,),
        answer={"refund": told},
        notes=(told,),
    )
    save("now", [run_of("T2", task_hash="h"), run])

    result = sopbench("approve", "now", *APPROVE)

    _, *lines = (tmp_path / "main.jsonl").read_text("ascii").splitlines()
    assert 0 == result.exit_code
    assert "2 runs kept in main.jsonl, 1 not correct\n" == result.stdout
    assert told not in "".join(lines)
    last = json.loads(lines[1])
    del last["crc"]
    assert {
        "type": "slim",
        "domain": "refunds",
        "task": "T2",
        "trial": 2,
        "agent": "a:b",
        "task_hash": "h",
        "outcome": "wrong",
        "calls": ["pay"],
    } == last
    assert "as agreed" == load_session(tmp_path / "main.jsonl").header.options.reason


def test_a_slim_baseline_is_compared_as_its_session_is(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("main", runs("T1"))
    save("now", runs("T2"))
    sopbench("approve", "main", *APPROVE)

    whole = sopbench("compare", "main", "now").stdout.splitlines()
    slim = sopbench("compare", "main.jsonl", "now").stdout.splitlines()

    assert whole[:2] == slim[:2]
    # What the baseline does not hold is not told as a change.
    assert not any("median" in line for line in slim)


def test_a_slim_baseline_does_not_depend_on_the_order_of_the_runs(
    sopbench: Sopbench, save: Save, runs: Make, tmp_path: Path
) -> None:
    save("one", runs())
    save("other", runs()[::-1])

    sopbench("approve", "one", "--reason", "r", "--baseline", "one.jsonl")
    sopbench("approve", "other", "--reason", "r", "--baseline", "other.jsonl")

    assert (tmp_path / "one.jsonl").read_text() == (tmp_path / "other.jsonl").read_text()


def test_a_slim_baseline_replaces_one_and_no_other_session(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("now", runs())
    path = save("whole", runs())
    before = path.read_bytes()
    sopbench("approve", "now", *APPROVE)

    again = sopbench("approve", "now", *APPROVE)
    refused = sopbench("approve", "now", "--reason", "r", "--baseline", str(path))

    assert "6 runs kept in main.jsonl, which was replaced\n" == again.stdout
    assert 2 == refused.exit_code
    assert before == path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("approve", "cut", *APPROVE), "did not come to an end", id="cut"),
        pytest.param(("approve", "shard", *APPROVE), "a shard is a part of the tasks", id="shard"),
        pytest.param(("approve", "now", "T1", *APPROVE), "takes the whole session", id="one task"),
        pytest.param(("show", "main.jsonl"), "nothing to show", id="show"),
        pytest.param(("report", "main.jsonl"), "nothing to show", id="report"),
        pytest.param(("gate", "main.jsonl", "--fail-under", "1"), "cannot be gated", id="gate"),
        pytest.param(("approve", "main.jsonl", "--reason", "r"), "no snapshot", id="snapshots"),
    ],
)
def test_what_a_slim_baseline_cannot_be_is_told(
    sopbench: Sopbench, save: Save, runs: Make, arguments: tuple[str, ...], message: str
) -> None:
    save("now", runs())
    save("shard", runs(), options={"selection": ["--sop-shard=1/2"]})
    path = save("cut", runs())
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:4]))
    sopbench("approve", "now", *APPROVE)

    result = sopbench(*arguments)

    assert 2 == result.exit_code
    assert message in result.stderr


def test_tasks_of_a_session_that_was_cut_short_did_not_change(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("main", runs(task_hash="h"))
    everything = {"refunds": DomainHeader(sop="s", planned=TASKS)}
    save("now", runs(task_hash="h")[:4], whole=False, domains=everything)

    result = sopbench("compare", "main", "now")

    assert "not compared, unavailable or never started: 2 tasks (T5, T6)" in result.stdout
    assert "changed:" not in result.stdout


def test_no_gate_holds_against_a_baseline_that_was_cut_short(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    """A task that it does not know may have fallen, however many are paired."""
    everything = {"refunds": DomainHeader(sop="s", planned=TASKS)}
    save("main", runs()[:5], whole=False, domains=everything)
    save("now", runs())

    result = sopbench("compare", "main", "now", "--gate", "lost=0")

    assert 3 == result.exit_code
    assert "the baseline did not come to its end" in result.stdout


def test_a_baseline_of_another_domain_is_called_that(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    other = {"claims": DomainHeader(sop="s", planned=TASKS, judging="c")}
    save("main", runs(domain="claims"), domains=other, judging="c")
    save("now", runs())

    result = sopbench("compare", "main", "now")

    assert 3 == result.exit_code
    assert "not comparable: it has no domain of this session, but claims" in result.stdout
    assert "rescore" not in result.stdout


def test_each_domain_is_comparable_by_its_own_rules(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    """That one domain is judged otherwise since says nothing of the other."""
    for name, of_claims in (("main", "c1"), ("now", "c2")):
        domains = {
            "refunds": DomainHeader(sop="s", planned=TASKS, judging="r"),
            "claims": DomainHeader(sop="s", planned=TASKS, judging=of_claims),
        }
        save(name, [*runs(), *runs(domain="claims")], domains=domains, judging=of_claims)

    compared = json.loads(sopbench("compare", "main", "now", "--json").stdout)["compared"][0]

    assert "no difference shown" == compared["groups"]["refunds"]["tier"]
    assert "not comparable" == compared["groups"]["claims"]["tier"]
    assert "not comparable" == compared["pooled"]["tier"]


def test_an_identical_agent_passes_every_gate_on_few_tasks(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("main", runs("T2"))
    save("now", runs("T2"))

    result = sopbench("compare", "main", "now", "--gate", "lost=0", "--gate", "p=0.05")

    assert 0 == result.exit_code


def test_a_loss_on_few_tasks_says_how_many_it_takes(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("main", runs())
    save("now", runs("T2"))

    result = sopbench("compare", "main", "now", "--gate", "p=0.05")

    assert 3 == result.exit_code
    said = " ".join(result.stdout.split())
    assert "1 fell, 1 of 6 tasks changed, and p < 0.05 takes 6 that change" in said
