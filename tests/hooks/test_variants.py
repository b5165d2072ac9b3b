"""`--sop-variants`: runs beside the tasks, which tell of these and count nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

CLERKS = """
from pytest_sopbench._loading.load import load_domain
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest_sopbench.bundled

FOLDER = Path(next(iter(pytest_sopbench.bundled.__path__))) / "reservation_desk"
SPEC = spec_from_file_location("card_of_the_desk", FOLDER / "policy.py")
CARD = module_from_spec(SPEC)
SPEC.loader.exec_module(CARD)
SOP = (FOLDER / "sop.md").read_text("utf-8")


def by_heart(inputs):
    return CARD.decide(inputs)


def by_the_book(sop, inputs):
    return CARD.decide(inputs) if "this card after **every turn of the guest**" in sop else "?"


def by_the_letter(sop, inputs):
    return CARD.decide(inputs) if sop == SOP else "?"
"""
READERS = """
import threading

import habits


def careful(sop, inputs, tools):
    return habits.fifths_and_sevenths(inputs, tools) if "grade it" in sop else {"grade": "?"}


def hurried(sop, inputs, tools):
    return habits.right(inputs, tools) if sop.strip() == "" else {"grade": "?"}


def spending(sop, inputs, tools):
    tools.report(usage={"cost_usd": 1.0})
    return habits.right(inputs, tools)
"""
DESK = ("--sop-domain=reservation_desk", "--sop-sample=first:4", "--sop-variants=noise,nosop")
LAB = ("--sop-domain=lab", "--agent=readers:careful")
UNSHAKEN = (
    "variant reservation_desk/noise: 0 of 4 tasks that are correct fall under noise; 4 of 4 correct"
)
TIMES = {"started", "duration_s", "durations_s", "latency_median_s", "latency_p95_s", "crc"}


@pytest.fixture(autouse=True)
def agents(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(clerks=CLERKS, readers=READERS)


def variants(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith(("variant ", "variant:"))]


def summary(result: pytest.RunResult) -> list[str]:
    """The lines of our summary that are not of a clock, of variants or of pytest."""
    lines = result.outlines
    start = next(place for place, line in enumerate(lines) if " SOP: lab, agent" in line)
    passed = ("variant ", "a run ", "saved ", "===")
    return [line for line in lines[start:] if line and not line.startswith(passed)]


def saved(path: Path) -> list[Any]:
    """What a saved session has of runs, without clocks."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [without_times(one) for one in lines if one["type"] != "header"]


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items() if name not in TIMES}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_an_agent_that_ignores_the_sop_is_reported_as_that(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*DESK, "--agent=clerks:by_heart", "--sop-fail-under=1")

    assert 0 == result.ret
    assert [
        "variant reservation_desk/nosop: 4 of 4 tasks do not depend on the SOP",
        UNSHAKEN,
    ] == variants(result)


def test_an_agent_that_reads_the_sop_depends_on_it(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*DESK, "--agent=clerks:by_the_book")

    assert [
        "variant reservation_desk/nosop: 0 of 4 tasks do not depend on the SOP",
        UNSHAKEN,
    ] == variants(result)


def test_an_agent_that_noise_upsets_is_told_of_also_on_the_page(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest(*DESK, "--agent=clerks:by_the_letter", "--sop-report=md=page.md")

    told = "4 of 4 tasks that are correct fall under noise; 0 of 4 correct"
    assert 0 == result.ret
    assert f"variant reservation_desk/noise: {told}" in variants(result)
    page = (pytester.path / "page.md").read_text("utf-8")
    assert "## Variants" in page
    assert told in page
    assert "4 of 4 runs correct" in page


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    "how",
    [
        pytest.param((), id="plain"),
        pytest.param(("-n2",), id="two workers"),
        pytest.param(("--sop-concurrency=4",), id="in flight"),
    ],
)
def test_a_session_is_what_it_is_without_them(
    pytester: pytest.Pytester, how: tuple[str, ...]
) -> None:
    common = (*LAB, *how, "--sop-fail-under=0.5", "--sop-gate=ecr=0", "--sop-trials=2")
    without = pytester.runpytest(*common, "--sop-save=without")

    beside = pytester.runpytest(*common, "--sop-save=beside", "--sop-variants=nosop,noise")

    folder = pytester.path / ".sop" / "sessions"
    assert without.ret == beside.ret
    assert summary(without) == summary(beside)
    assert 2 == len(variants(beside))
    assert sorted(map(json.dumps, saved(folder / "without.jsonl"))) == sorted(
        map(json.dumps, saved(folder / "beside.jsonl"))
    )


@pytest.mark.usefixtures("lab")
def test_a_session_with_them_is_shown_gated_compared_and_resumed(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest(*LAB, "--sop-save=without")
    pytester.runpytest(*LAB, "--sop-save=beside", "--sop-variants=nosop")

    def both(*command: str) -> list[tuple[int, str]]:
        results = [
            CliRunner().invoke(main, [one.replace("@", name) for one in command])
            for name in ("without", "beside")
        ]
        return [(one.exit_code, one.output.replace("beside", "without")) for one in results]

    shown, gated = both("show", "@", "T_01", "--json"), both("gate", "@", "--sop-fail-under=0.6")
    compared = CliRunner().invoke(main, ["compare", "without", "beside"])
    resumed = pytester.runpytest(*LAB, "--sop-resume=beside", "--sop-variants=nosop")

    assert gated[0] == gated[1]
    assert shown[0][0] == shown[1][0]
    assert 0 == compared.exit_code, compared.output
    assert "lost 0, gained 0" in compared.output
    assert "variant lab/nosop: 0 of 6 tasks do not depend on the SOP" in variants(resumed)
    resumed.stdout.fnmatch_lines(["resumed 6 of 6 runs from beside"])


@pytest.mark.usefixtures("lab")
def test_shards_with_them_are_merged_to_the_whole(pytester: pytest.Pytester) -> None:
    common = (*LAB, "--sop-variants=noise,nosop")
    pytester.runpytest(*common, "--sop-save=whole")
    for number in (1, 2):
        pytester.runpytest(*common, f"--sop-shard={number}/2", f"--sop-save=part{number}")

    done = CliRunner().invoke(main, ["merge", "part1", "part2", "--out", "all"])

    assert 0 == done.exit_code, done.output
    folder = pytester.path / ".sop" / "sessions"
    assert saved(folder / "whole.jsonl") == saved(folder / "all.jsonl")
    whole, merged = (
        json.loads((folder / name).read_text("utf-8").partition("\n")[0])["options"]["variants"]
        for name in ("whole.jsonl", "all.jsonl")
    )
    assert whole == merged


def test_the_variants_of_each_agent_are_told_apart(pytester: pytest.Pytester, lab: Path) -> None:
    agents = ("--agent=slow=readers:careful", "--agent=fast=readers:hurried")

    result = pytester.runpytest("--sop-domain=lab", *agents, "--sop-variants=nosop")

    assert lab.is_dir()
    assert [
        "variant lab/nosop, agent fast: 6 of 6 tasks do not depend on the SOP",
        "variant lab/nosop, agent slow: 0 of 6 tasks do not depend on the SOP",
    ] == variants(result)


@pytest.mark.usefixtures("lab")
def test_a_spent_budget_begins_none_and_counts_them(pytester: pytest.Pytester) -> None:
    paying = ("--sop-domain=lab", "--agent=readers:spending", "--sop-variants=nosop")

    result = pytester.runpytest(*paying, "--sop-budget=8usd")

    assert 0 == result.ret
    result.assert_outcomes(passed=8, skipped=4)
    assert ["variant lab/nosop: 2 of 2 tasks do not depend on the SOP"] == variants(result)


def test_a_file_of_the_domain_replaces_the_sop_of_some_tasks(
    pytester: pytest.Pytester, lab: Path
) -> None:
    (lab / "variants").mkdir()
    rows = [
        {"id": f"T_0{n}", "sop": f"Measure, then {what} it.\n"}
        for n, what in ((1, "grade"), (2, "drop"))
    ]
    (lab / "variants" / "short.jsonl").write_text("\n".join(map(json.dumps, rows)))

    result = pytester.runpytest(*LAB, "--sop-variants=short")

    told = "1 of 2 tasks that are correct fall under short; 1 of 2 correct"
    assert [f"variant lab/short: {told}"] == variants(result)


@pytest.mark.usefixtures("lab")
def test_a_variant_that_no_domain_has_is_named(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*LAB, "--sop-variants=nosopp")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        ["ERROR: --sop-variants: no domain has a variant 'nosopp'", "did you mean 'nosop'?*"]
    )


@pytest.mark.usefixtures("lab")
def test_a_session_of_tests_of_a_project_says_that_it_had_none(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_lab="def test_it(sop_run):\n    sop_run.verdict\n")

    result = pytester.runpytest("test_lab.py", *LAB, "--sop-variants=nosop")

    assert 0 == result.ret
    assert [
        "variant: none came to its end; only items of a domain's own rows have variants"
    ] == variants(result)


def test_agents_of_a_fixture_have_variants_of_their_own(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makeconftest(
        "import pytest, readers\n\n\n"
        "@pytest.fixture(scope='session', params=['careful', 'hurried'])\n"
        "def sop_agent(request):\n"
        "    return getattr(readers, request.param)\n"
    )

    result = pytester.runpytest("--sop-domain=lab", "--sop-variants=nosop")

    assert lab.is_dir()
    assert [
        "variant lab/nosop, agent sop_agent[careful]: 0 of 6 tasks do not depend on the SOP",
        "variant lab/nosop, agent sop_agent[hurried]: 6 of 6 tasks do not depend on the SOP",
    ] == variants(result)
