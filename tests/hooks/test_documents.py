"""A tool-less domain as its users meet it: run, gated, saved, judged again and compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench.cli import main

SCHEMA = {
    "type": "object",
    "properties": {
        "step": {"enum": ["4.1", "4.2", "5.1"]},
        "charge": {"type": "number"},
        "why": {"type": "string"},
        "items": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["step", "charge"],
}
METADATA = {
    "name": "desk",
    "output_schema": "answer.schema.json",
    "ignored_paths": ["why"],
    "roles": {"step": "route"},
    "class": "deep",
}
AGENTS = """
import json


def right(inputs, tools, output_schema):
    assert output_schema == tools.output_schema()
    n = inputs["n"]
    document = {"step": "4.1", "charge": 2.0 * n, "items": ["b", "a"], "why": f"because {n}"}
    return "<think>{}</think>```json\\n" + json.dumps(document) + "\\n```"


def slips(inputs, tools, output_schema):
    n, text = inputs["n"], right(inputs, tools, output_schema)
    if n == 2:
        return text.replace("4.1", "5.1").replace('"b", ', "")
    return text[:-8] if n == 3 else "" if n == 4 else text
"""
RUN = ("--sop-domain=./desk", "--agent=clerks:slips")


@pytest.fixture(autouse=True)
def desk(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("desk")
    rows = [
        {"id": f"T_{n}", "inputs": {"n": n}, "expected": expected(n), "tags": []}
        for n in range(1, 6)
    ]
    files = {
        "metadata.json": json.dumps(METADATA),
        "answer.schema.json": json.dumps(SCHEMA),
        "sop.md": "4.1 Greet.\n",
        "tasks.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    pytester.makepyfile(clerks=AGENTS)


def expected(n: int) -> dict[str, object]:
    return {"step": "4.1", "charge": 2 * n, "items": ["a", "b"]}


def sopbench(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def records() -> list[dict[str, object]]:
    text = Path(".sop/sessions/last.jsonl").read_text("utf-8")
    return [one for one in map(json.loads, text.splitlines()) if one["type"] == "run"]


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["plain", "two workers"])
def test_the_three_tiers_are_counted_with_the_worst_paths(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(*RUN, *workers, "--sop-gate=tier_score=0.5")

    result.stdout.fnmatch_lines(
        [
            "TSR    40.0% correct, 2 of 5*",
            "tier   44.0% score, 2 match, 1 mismatch, 2 invalid",
            "paths  items 2 of 5 right, step 2 of 5, charge 3 of 5",
            "gate   tier score >= 50% does not hold (got 44%): 2.2 of 5",
        ]
    )
    result.stdout.fnmatch_lines_random(
        [
            "step '4.1' -> '5.1', items *: T_2",
            "no_answer: not JSON: a code fence is not closed*",
            "no_answer: empty: there is no text: T_4",
        ]
    )
    result.stdout.no_fnmatch_line("calls *")
    assert 1 == result.ret


def test_a_run_shows_each_path_and_a_page_the_tiers(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*RUN, "--sop-report=md=page.md")

    shown = sopbench("show", "last", "T_2").output
    page = Path("page.md").read_text("utf-8")

    assert "path     step: skipped ahead" in shown
    assert 'path     items: missing "b"' in shown
    assert "right    1 of 3 paths: charge" in shown
    assert "| desk | 44.0% | 2 | 1 | 2 | items 2 of 5 right," in page


def test_a_session_is_resumed_and_judged_again_from_what_it_keeps(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest(*RUN, "--sop-sample=4")

    resumed = pytester.runpytest(*RUN, "--sop-resume=last")
    found = sopbench("rescore", "last", "--domain", "./desk", "--scoring", "published")

    resumed.stdout.fnmatch_lines(["TSR    40.0% correct, 2 of 5*", "resumed 4 of 5 runs from last"])
    # Repaired, the truncated answer is right, which is told.
    assert 0 == found.exit_code, found.output
    assert "T_3" in found.output


def test_two_sessions_are_compared_path_by_path(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--sop-domain=./desk", "--agent=clerks:right", "--sop-save=before")

    result = pytester.runpytest(*RUN, "--sop-compare=before")

    text = " ".join(result.stdout.str().split())
    assert "lost 3 (T_2, T_3, T_4)" in text
    assert "tier score 100.0% -> 44.0%, items 5 of 5 -> 2 of 5, step 5 of 5 -> 2 of 5," in text


def test_a_changed_schema_makes_sessions_incomparable(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--sop-domain=./desk", "--agent=clerks:right", "--sop-save=before")
    changed = {**METADATA, "ignored_paths": ["why", "items"]}
    Path("desk/metadata.json").write_text(json.dumps(changed), encoding="utf-8")

    result = pytester.runpytest(*RUN, "--sop-compare=before")

    result.stdout.fnmatch_lines(["*not comparable: judged by other rules*"])


def test_a_test_asserts_on_one_path(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_desk="""
        def test_charge(sop_run, sop_task):
            sop_run.assert_path("charge", 2 * sop_task.inputs["n"])
            sop_run.assert_path("items[0]", "B")
            sop_run.assert_path("mood", None)

        def test_step(sop_run):
            sop_run.assert_path("step", "4.1")
        """
    )

    result = pytester.runpytest(*RUN, "-k", "T_1 or T_2 or T_3", "test_desk.py")

    result.stdout.fnmatch_lines(
        [
            "*items[[]0]: expected 'B', actual 'a': different*",
            "*charge: there is no document: no_answer: not JSON*",
            "*step: expected '4.1', actual '5.1': skipped ahead*",
        ]
    )
    result.assert_outcomes(passed=2, failed=4)


def test_a_path_of_a_domain_with_fields_is_a_mistake_of_the_test(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makepyfile(test_lab='def test(sop_run):\n    sop_run.assert_path("grade", "pass")\n')

    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:right", "--sop-sample=first:1", "test_lab.py"
    )

    result.stdout.fnmatch_lines(["*ValueError: the test is wrong, whatever the agent did*"])


def test_recorded_outputs_are_an_agent(pytester: pytest.Pytester) -> None:
    lines = [{"id": f"T_{n}", "model_response": json.dumps(expected(n))} for n in range(1, 6)]
    Path("out.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines), "utf-8")

    result = pytester.runpytest("--sop-domain=./desk", "--agent=replayed:out.jsonl")

    result.assert_outcomes(passed=5)


def test_the_published_scoring_repairs_and_says_so(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*RUN, "-osop_scoring=published")

    result.stdout.fnmatch_lines(
        ["*SOP: desk, agent clerks:slips, published scoring*", "TSR    60.0% correct, 3 of 5*"]
    )
    result.stdout.fnmatch_lines(["note   1 run is correct by the published scorer's rules only"])


def test_a_document_is_approved_as_a_snapshot(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_desk="""
        import pytest

        @pytest.mark.sop(answer="ignored")
        def test_same(sop_run, sop_snapshot):
            assert sop_run.answer == sop_snapshot
        """
    )
    right = ("-psyrupy", "--sop-domain=./desk", "--agent=clerks:right", "test_desk.py")
    pytester.runpytest(*right, "--snapshot-update")

    again = pytester.runpytest(*right)
    other = pytester.runpytest("-psyrupy", *RUN, "-k", "T_2", "test_desk.py")

    again.assert_outcomes(passed=5)
    other.stdout.fnmatch_lines(
        [
            "*2 paths changed: desk/T_2 departs from its snapshot",
            "*changed *step: '4.1' -> '5.1' (skipped ahead)",
        ]
    )
