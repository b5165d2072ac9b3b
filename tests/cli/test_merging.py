"""`sopbench merge`: the whole is what its shards are together, and nothing less."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Domain
from pytest_sopbench._core.model.task import share_of
from pytest_sopbench._core.records.record import to_line
from pytest_sopbench._sessions.header import DomainHeader, GitState, PlannedTasks
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.saved import summarized
from pytest_sopbench._sessions.writer import sealed_session, summary_to_line

Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]

POOL = ("T1", "T2", "T3", "T4")
CLEAN = GitState(commit="c0ffee", dirty=False)


@pytest.fixture
def shards(save: Save, run_of: Make) -> None:
    """Two shards of a session of four tasks, which the hash of their ids shares out so."""
    for number, tasks in ((1, ("T4", "T2")), (2, ("T1", "T3"))):
        save_shard(save, run_of, number, tasks)


def refunds_of(number: int, *tasks: str, pool: tuple[str, ...] = POOL, **more: Any) -> DomainHeader:
    """Return what a shard of two says of the domain."""
    return DomainHeader(sop="s", planned=tasks, share=share_of(pool, number, 2), **more)


def save_shard(
    save: Save,
    run_of: Make,
    number: int,
    tasks: tuple[str, ...],
    pool: tuple[str, ...] = POOL,
    **header: Any,
) -> Path:
    options = {"selection": ["--sop-tags=a", f"--sop-shard={number}/2"], "scoring": "exact"}
    records = [run_of(task, trace=f"refunds/{task}.jsonl") for task in tasks]
    domains = {"refunds": refunds_of(number, *tasks, pool=pool)}
    said = {"options": options, "git": CLEAN, "domains": domains, **header}
    path = save(f"part{number}", records, **said)
    folder = path.with_name(f"part{number}.traces") / "refunds"
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        (folder / f"{task}.jsonl").write_text("log")
    return path


def merged(tmp_path: Path) -> Any:
    return read_session(tmp_path / ".sop" / "sessions" / "all.jsonl")


def test_shards_become_the_whole(sopbench: Sopbench, shards: None, tmp_path: Path) -> None:
    result = sopbench("merge", "part2", "part1", "--out", "all")

    whole = merged(tmp_path)
    assert 0 == result.exit_code
    assert ".sop/sessions/all.jsonl: 2 shards, 4 runs, 4 correct\n" == result.stdout
    assert ["T4", "T2", "T1", "T3"] == [one.task for one in whole.records]
    assert ("T4", "T2", "T1", "T3") == whole.header.domains["refunds"].planned
    assert ("--sop-tags=a",) == whole.header.options.selection
    assert 4 == whole.summaries["refunds"].correct
    assert CLEAN == whole.header.git


def test_the_tasks_stand_in_the_order_of_the_rows_where_the_domain_is_at_hand(
    sopbench: Sopbench, refunds: Domain, shards: None, tmp_path: Path
) -> None:
    sopbench("merge", "part1", "part2", "--out", "all")

    assert ["T1", "T2", "T3", "T4"] == [one.task for one in merged(tmp_path).records]


def test_event_logs_are_merged(sopbench: Sopbench, shards: None, tmp_path: Path) -> None:
    sopbench("merge", "part1", "part2", "--out", "all")

    folder = tmp_path / ".sop" / "sessions" / "all.traces" / "refunds"
    assert ["T1.jsonl", "T2.jsonl", "T3.jsonl", "T4.jsonl"] == sorted(
        one.name for one in folder.iterdir()
    )


def test_a_tree_that_was_dirty_once_is_dirty(
    sopbench: Sopbench, shards: None, save: Save, run_of: Make, tmp_path: Path
) -> None:
    save_shard(save, run_of, 2, ("T1", "T3"), git=GitState(commit="c0ffee", dirty=True))

    sopbench("merge", "part1", "part2", "--out", "all")

    assert merged(tmp_path).header.git.dirty


@pytest.mark.parametrize(
    ("names", "message"),
    [
        pytest.param(("part1",), "shards are missing: 2/2", id="gap"),
        pytest.param(("part1", "part1", "part2"), "are both shard 1/2", id="twice"),
        pytest.param(("part1", "whole"), "not a shard", id="no shard"),
        pytest.param(("part1", "third"), "these are no parts of one session", id="of three"),
        pytest.param(("part1", "other"), "both have the run of refunds/T2", id="overlap"),
        pytest.param(("part1", "cut"), "shard 2/2 was cut short", id="cut short"),
        pytest.param(("part1", "lost"), "refunds/T2 did not come to an end", id="run lost"),
    ],
)
@pytest.mark.usefixtures("shards")
def test_overlaps_and_gaps_are_errors(
    sopbench: Sopbench, save: Save, run_of: Make, names: tuple[str, ...], message: str
) -> None:
    second = {"selection": ["--sop-tags=a", "--sop-shard=2/2"], "scoring": "exact"}
    save("whole", [run_of()])
    save("third", [run_of("T2")], options={"selection": ["--sop-shard=2/3"]})
    save("other", [run_of("T2")], options=second, git=CLEAN)
    save("cut", [run_of("T2")], options=second, git=CLEAN, whole=False)
    lost = {"refunds": DomainHeader(sop="s", planned=("T2", "T4"))}
    save("lost", [run_of("T4")], options=second, git=CLEAN, domains=lost)

    result = sopbench("merge", *names, "--out", "all")

    assert 2 == result.exit_code
    assert message in result.stderr
    assert not Path(".sop/sessions/all.jsonl").exists()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        pytest.param({"agent": "c:d"}, "agent 'a:b' and 'c:d'", id="agent"),
        pytest.param({"agent_args": {"m": "x"}}, "agent arguments", id="arguments"),
        pytest.param({"judging": "k"}, "judged by other rules", id="judging"),
        pytest.param({"plugin": "2.0"}, "version of pytest-sopbench", id="version"),
        pytest.param({"git": GitState(commit="decaf", dirty=False)}, "commit", id="commit"),
        pytest.param(
            {"options": {"selection": ["--sop-shard=2/2"], "scoring": "exact"}},
            "options",
            id="selection",
        ),
        pytest.param(
            {"domains": {"refunds": DomainHeader(sop="t", planned=("T2",))}},
            "the sop of domain refunds has another content",
            id="content",
        ),
    ],
)
def test_shards_of_different_sessions_are_not_merged(
    sopbench: Sopbench,
    shards: None,
    save: Save,
    run_of: Make,
    header: dict[str, Any],
    message: str,
) -> None:
    save_shard(save, run_of, 2, ("T2",), **header)

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 2 == result.exit_code
    assert "are no parts of one session" in result.stderr
    assert message in result.stderr


def test_a_session_that_is_there_is_not_replaced(
    sopbench: Sopbench, shards: None, save: Save, runs: Make
) -> None:
    path = save("all", runs())
    before = path.read_bytes()

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 2 == result.exit_code
    assert "is there already" in result.stderr
    assert before == path.read_bytes()


def test_a_domain_that_one_shard_has_no_task_of_is_merged(
    sopbench: Sopbench, shards: None, save: Save, run_of: Make, tmp_path: Path
) -> None:
    """A small domain may have tasks in some shards only."""
    pool = ("T1", "T2", "T4")
    none = {
        "refunds": refunds_of(1, "T4", "T2", pool=pool),
        "claims": DomainHeader(sop="c", share=share_of(["C1"], 1, 2)),
    }
    both = {
        "refunds": refunds_of(2, "T1", pool=pool),
        "claims": DomainHeader(sop="c", planned=("C1",), share=share_of(["C1"], 2, 2)),
    }
    save_shard(save, run_of, 1, ("T4", "T2"), domains=none, judging="of both")
    path = save_shard(save, run_of, 2, ("T1",), domains=both, judging="of both")
    header = read_session(path).header
    records = [run_of("T1"), run_of("C1", domain="claims")]
    lines = [*map(to_line, records), summary_to_line(summarized(records))]
    path.write_bytes(b"".join(sealed_session(header, lines)))

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 0 == result.exit_code
    assert "of both" == merged(tmp_path).header.judging
    assert {"refunds", "claims"} == {*merged(tmp_path).summaries}


def test_a_shard_without_a_task_is_a_part_like_any_other(
    sopbench: Sopbench, save: Save, run_of: Make, tmp_path: Path
) -> None:
    """A matrix may have more jobs than tasks."""
    save_shard(save, run_of, 1, ("T4", "T2"), ("T2", "T4"))
    save_shard(save, run_of, 2, (), ("T2", "T4"))

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 0 == result.exit_code
    assert ["T4", "T2"] == [one.task for one in merged(tmp_path).records]


@pytest.mark.usefixtures("shards")
def test_a_shard_without_what_it_selected_is_refused(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    """Where `-k` takes tasks away, no other shard has them."""
    away = {"not_evaluated": "-k took 1 of 2 selected tasks away"}
    options = {"selection": ["--sop-tags=a", "--sop-shard=2/2"], "scoring": "exact", **away}
    save_shard(save, run_of, 2, ("T2",), options=options)

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 2 == result.exit_code
    assert "part2.jsonl: shard 2/2 is not all of its part: -k took 1 of 2" in result.stderr


@pytest.mark.usefixtures("shards")
def test_shards_are_of_the_same_domains(sopbench: Sopbench, save: Save, run_of: Make) -> None:
    """A domain that one shard was not run on lacks a part."""
    one = DomainHeader(sop="s", planned=("T2", "T4"))
    more = {"refunds": one, "claims": DomainHeader(sop="c")}
    save_shard(save, run_of, 2, ("T2", "T4"), domains=more)

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 2 == result.exit_code
    assert "domains refunds and claims, refunds" in result.stderr


def test_a_shard_with_a_damaged_line_is_refused_though_no_run_is_missing(
    sopbench: Sopbench, shards: None, tmp_path: Path
) -> None:
    path = tmp_path / ".sop" / "sessions" / "part1.jsonl"
    *lines, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((*lines, b"spoiled\n", last)))

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 2 == result.exit_code
    assert "part1.jsonl: 1 damaged line\n" in result.stderr
    assert not (tmp_path / ".sop" / "sessions" / "all.jsonl").exists()


def test_a_run_in_any_two_shards_is_refused(sopbench: Sopbench, save: Save, run_of: Make) -> None:
    for number, tasks in ((1, ("T1",)), (2, ("T2",)), (3, ("T3", "T2"))):
        options = {"selection": [f"--sop-shard={number}/3"]}
        save(f"part{number}", [run_of(task) for task in tasks], options=options)

    result = sopbench("merge", "part1", "part2", "part3", "--out", "all")

    assert 2 == result.exit_code
    assert "part2.jsonl and " in result.stderr
    assert "both have the run of refunds/T2" in result.stderr


def test_what_each_agent_had_planned_is_kept(
    sopbench: Sopbench, save: Save, run_of: Make, tmp_path: Path
) -> None:
    for number, task in ((1, "T2"), (2, "T1")):
        both = PlannedTasks(planned=(task,))
        agents = {"a:b": both, "c:d": both}
        domain = refunds_of(number, task, pool=("T1", "T2"), agents=agents)
        options = {"selection": [f"--sop-shard={number}/2"]}
        records = [run_of(task, agent=agent) for agent in ("a:b", "c:d")]
        save(f"part{number}", records, options=options, domains={"refunds": domain})

    result = sopbench("merge", "part1", "part2", "--out", "all")

    whole = PlannedTasks(planned=("T2", "T1"))
    assert 0 == result.exit_code, result.output
    assert {"a:b": whole, "c:d": whole} == merged(tmp_path).header.domains["refunds"].agents


@pytest.mark.parametrize(
    ("tasks", "domain", "message"),
    [
        pytest.param(
            (),
            refunds_of(2),
            "it planned 0 tasks of domain refunds, and its share is 2",
            id="nothing was collected",
        ),
        pytest.param(
            ("T1",),
            refunds_of(2, "T1"),
            "it planned 1 tasks of domain refunds, and its share is 2",
            id="a task is missing",
        ),
        pytest.param(
            ("T1", "T6"),
            refunds_of(2, "T1", "T6"),
            "refunds/T6 is a task of another shard",
            id="a task of another shard",
        ),
        pytest.param(
            ("T1", "T3"),
            DomainHeader(sop="s", planned=("T1", "T3")),
            "it does not say what its share of domain refunds is",
            id="an older version",
        ),
        pytest.param(
            ("T1", "T5"),
            refunds_of(2, "T1", "T5"),
            "their tasks of domain refunds are not those that were to be shared out",
            id="a task in place of another",
        ),
        pytest.param(
            ("T1", "T3", "T5"),
            refunds_of(2, "T1", "T3", "T5", pool=(*POOL, "T5")),
            "they share out other tasks of domain refunds",
            id="more tasks than the other shares out",
        ),
    ],
)
@pytest.mark.usefixtures("shards")
def test_a_shard_whose_plan_is_not_its_share_is_refused(
    sopbench: Sopbench,
    save: Save,
    run_of: Make,
    tasks: tuple[str, ...],
    domain: DomainHeader,
    message: str,
) -> None:
    save_shard(save, run_of, 2, tasks, domains={"refunds": domain})

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 2 == result.exit_code
    assert message in result.stderr
    assert not Path(".sop/sessions/all.jsonl").exists()


@pytest.mark.parametrize(
    ("cut", "tasks", "status"),
    [
        pytest.param("--sop-sample=first:1", ("T1",), 0, id="limit"),
        pytest.param("--sop-sample=1@7", ("T3",), 0, id="sample"),
        pytest.param("--sop-sample=first:1", (), 2, id="less than the limit"),
        pytest.param("--sop-sample=1@7", ("T1", "T3"), 2, id="more than the sample"),
    ],
)
def test_a_limit_and_a_sample_cut_each_share(
    sopbench: Sopbench, save: Save, run_of: Make, cut: str, tasks: tuple[str, ...], status: int
) -> None:
    for number, planned in ((1, ("T2",)), (2, tasks)):
        options = {"selection": [f"--sop-shard={number}/2", cut]}
        save_shard(save, run_of, number, planned, options=options)

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert status == result.exit_code, result.output


def test_a_shard_without_the_runs_of_an_agent_is_refused(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    """Its job named the tests of one agent only."""
    for number, task in ((1, "T2"), (2, "T1")):
        own = PlannedTasks(planned=(task,))
        names = ("a:b", "c:d") if number == 1 else ("a:b",)
        agents = dict.fromkeys(names, own) if number == 1 else {}
        domain = refunds_of(number, task, pool=("T1", "T2"), agents=agents)
        options = {"selection": [f"--sop-shard={number}/2"]}
        records = [run_of(task, agent=agent) for agent in names]
        save(f"part{number}", records, options=options, domains={"refunds": domain})

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 2 == result.exit_code
    assert "part2.jsonl lacks runs of c:d on domain refunds" in result.stderr


def test_a_merged_session_is_no_shard_and_tells_which_tests_failed(
    sopbench: Sopbench, save: Save, run_of: Make, tmp_path: Path
) -> None:
    for number, tasks in ((1, ("T4", "T2")), (2, ("T1", "T3"))):
        options = {"selection": [f"--sop-shard={number}/2"], "failures": number}
        save_shard(save, run_of, number, tasks, options=options)

    sopbench("merge", "part1", "part2", "--out", "all")
    result = sopbench("gate", "all", "--fail-under=1")

    assert merged(tmp_path).header.domains["refunds"].share is None
    assert 1 == result.exit_code
    assert "tests that failed, which no gate forgives <= 0 does not hold (got 3)" in result.stdout
