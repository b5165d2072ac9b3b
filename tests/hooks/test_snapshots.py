"""Snapshots as a user meets them: compared, approved, left over, and never lost by accident."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("lab")

LAB = ("-psyrupy", "--sop-domain=lab", "--agent=clerks:steady", "test_steps.py")
SWAPPED = ("-psyrupy", "--sop-domain=lab", "--agent=clerks:swapped", "test_steps.py")
UPDATE = "--snapshot-update"

AGENTS = """
def grade(reading):
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}


def steady(inputs, tools):
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    tools.execute_tool("measure", {"sample_id": "blank"})
    return grade(reading)


def swapped(inputs, tools):
    if inputs["sample_id"] not in ("T_01", "T_03", "T_05"):
        return steady(inputs, tools)
    tools.execute_tool("measure", {"sample_id": "blank"})
    return grade(tools.call("measure", sample_id=inputs["sample_id"])["reading"])


def wrong(inputs, tools):
    swapped(inputs, tools)
    return {"grade": "unknown"}


def raising(inputs, tools):
    if inputs["sample_id"] == "T_02":
        raise RuntimeError("no model")
    return steady(inputs, tools)


def changed(inputs, tools):
    tools.execute_tool("measure", {"sample_id": inputs["sample_id"].lower()})
    return steady(inputs, tools)
"""

TEST = """
def test_steps(sop_run, sop_snapshot):
    assert sop_run.trajectory == sop_snapshot
"""
STRICT = """
def test_steps(sop_run, sop_snapshot):
    sop_run.assert_correct()
    assert sop_run.trajectory == sop_snapshot
"""
RIGHT_RUNS = """
import pytest


@pytest.mark.sop(answer="ignored")
def test_steps(sop_run, sop_snapshot):
    if sop_run.outcome == "correct":
        assert sop_run.trajectory == sop_snapshot
"""


@pytest.fixture(autouse=True)
def clerks(pytester: pytest.Pytester, lab: Path) -> None:
    """The agents of this file, and the usual test."""
    pytester.makepyfile(clerks=AGENTS, test_steps=TEST)


@pytest.fixture(params=[pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """How the session is distributed."""
    chosen: tuple[str, ...] = request.param
    return chosen


@pytest.fixture(scope="module")
def approved_lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that needs them keeps the snapshots of `lab`, for the others."""
    return tmp_path_factory.mktemp("lab") / "sop_snapshots"


@pytest.fixture
def approved(pytester: pytest.Pytester, approved_lab: Path) -> None:
    """The six tasks of `lab`, approved with the steady agent."""
    if not approved_lab.exists():
        assert 0 == pytester.runpytest(*LAB, UPDATE).ret
        Path("sop_snapshots").rename(approved_lab)
    shutil.copytree(approved_lab, "sop_snapshots")
    assert 6 == len(files())


def files() -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in Path("sop_snapshots").rglob("*.json")}


def drop_row(lab: Path, task: str) -> None:
    data = lab / "data.csv"
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join(line for line in lines if not line.startswith(task)))


# ---------------------------------------------------------------------- compare and approve


def test_a_snapshot_is_one_file_per_task_with_a_step_on_each_line(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(*LAB, UPDATE, *workers)

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["6 snapshots generated."])
    assert [f"T_{number:02}.json" for number in range(1, 7)] == sorted(files())
    assert files()["T_01.json"] == (
        "{\n"
        ' "task": "T_01",\n'
        ' "calls": [\n'
        '  {"name": "measure", "arguments": {"sample_id": "T_01"}},\n'
        '  {"name": "measure", "arguments": {"sample_id": "blank"}}\n'
        " ]\n"
        "}\n"
    )


@pytest.mark.usefixtures("approved")
def test_the_same_behaviour_passes(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*LAB)

    assert 0 == result.ret
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["6 snapshots passed."])
    result.stdout.no_fnmatch_line("*SOP snapshots*")


LATER = """
from clerks import steady

SEEN = []


def agent(inputs, tools):
    SEEN.append(inputs["sample_id"])
    if len(SEEN) == 2:
        tools.execute_tool("measure", {"sample_id": "again"})
    return steady(inputs, tools)
"""
TWO_TRIALS = (
    "-psyrupy",
    "test_steps.py",
    "--sop-domain=lab::T_01",
    "--agent=later:agent",
    "--sop-trials=2",
)


@pytest.mark.usefixtures("approved")
def test_every_trial_is_compared(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(later=LATER)

    result = pytester.runpytest(*TWO_TRIALS)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E       assert 1 added: lab/T_01/t2 departs from its snapshot",
            "E         added   step 1 *",
            "E         only the first trial of a task can be approved",
        ]
    )


@pytest.mark.usefixtures("approved")
def test_where_nothing_is_missing_new_only_compares_every_trial(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(later=LATER)

    result = pytester.runpytest(*TWO_TRIALS, "--snapshot-update-new-only")

    result.assert_outcomes(passed=1, failed=1)


def test_an_update_writes_the_first_trial_and_compares_no_other(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(later=LATER)

    result = pytester.runpytest(*TWO_TRIALS, UPDATE)

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["1 snapshot generated."])
    assert "again" not in files()["T_01.json"]


def test_a_task_without_snapshot_fails_and_says_what_was_done(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*LAB, "-k", "T_01")

    assert 1 == result.ret
    assert {} == files()
    result.stdout.fnmatch_lines(
        [
            "E       assert no snapshot of lab/T_01; 2 calls",
            'E         step    1  measure(sample_id="T_01")',
            'E         step    2  measure(sample_id="blank")',
            "E         to approve it: sopbench approve last lab/T_01 --reason TEXT",
        ],
        consecutive=True,
    )


@pytest.mark.usefixtures("approved")
def test_two_swapped_calls_are_three_diffs_that_name_the_moved_step(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest(*SWAPPED)

    said = [line.rstrip() for line in result.outlines if line.startswith("E  ")]
    result.assert_outcomes(passed=3, failed=3)
    assert said.count('E         moved   step 1 (was 2)  measure(sample_id="blank")') == 3
    assert len(said) == 3 * 3
    assert sorted(line for line in said if "departs" in line) == [
        f"E       assert 1 moved: lab/{task} departs from its snapshot"
        for task in ("T_01", "T_03", "T_05")
    ]


@pytest.mark.usefixtures("approved")
def test_an_update_takes_over_what_a_right_run_does(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    before = files()

    result = pytester.runpytest(*SWAPPED, UPDATE, *workers)

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["3 snapshots passed. 3 snapshots updated."])
    changed = [name for name, text in files().items() if text != before[name]]
    assert ["T_01.json", "T_03.json", "T_05.json"] == sorted(changed)


@pytest.mark.usefixtures("approved")
def test_new_only_writes_what_is_missing(pytester: pytest.Pytester) -> None:
    before = files()
    Path("sop_snapshots/lab/T_02.json").unlink()

    result = pytester.runpytest(*SWAPPED, "--snapshot-update-new-only")

    result.assert_outcomes(passed=3, failed=3)
    assert before == files()


@pytest.mark.usefixtures("approved")
def test_new_only_names_what_it_would_have_written(pytester: pytest.Pytester) -> None:
    Path("sop_snapshots/lab/T_02.json").unlink()

    result = pytester.runpytest(
        *("-psyrupy", "--sop-domain=lab", "--agent=clerks:wrong", "test_steps.py"),
        "--snapshot-update-new-only",
    )

    result.stdout.fnmatch_lines(["1 not approved*", "  lab/T_02: wrong"], consecutive=True)


@pytest.mark.usefixtures("approved")
def test_any_of_several_approved_trajectories_is_good(pytester: pytest.Pytester) -> None:
    path = Path("sop_snapshots/lab/T_01.json")
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "or": [data["calls"][::-1]]}))

    result = pytester.runpytest(*SWAPPED, "-k", "T_01 or T_02")

    result.assert_outcomes(passed=2, deselected=4)


@pytest.mark.usefixtures("approved")
def test_the_diff_is_against_the_nearest_of_several(pytester: pytest.Pytester) -> None:
    path = Path("sop_snapshots/lab/T_01.json")
    data = json.loads(path.read_text())
    path.write_text(json.dumps({"task": "T_01", "calls": [], "or": [data["calls"]]}))

    result = pytester.runpytest(*SWAPPED, "-k", "T_01")

    result.stdout.fnmatch_lines(
        [
            "E       assert 1 moved: lab/T_01 departs from its snapshot",
            "E         moved *",
            "E         beside approved trajectory 2 of 2, the nearest",
        ]
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("<<<<<<< HEAD\n", "*T_01.json: no snapshot: not JSON: *", id="a conflict"),
        pytest.param(
            '{"task": "T_02", "calls": []}',
            '*T_01.json: it says that it is of task "T_02"',
            id="of another task",
        ),
    ],
)
@pytest.mark.usefixtures("approved")
def test_a_damaged_snapshot_fails_its_task_and_can_be_approved_again(
    pytester: pytest.Pytester, text: str, why: str
) -> None:
    path = Path("sop_snapshots/lab/T_01.json")
    before = path.read_text()
    path.write_text(text)

    result = pytester.runpytest(*LAB)
    again = pytester.runpytest(*LAB, UPDATE)

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines([f"E       assert {why}"])
    assert 0 == again.ret
    assert before == path.read_text()


@pytest.mark.parametrize("update", [UPDATE, "--snapshot-update-new-only"])
@pytest.mark.usefixtures("approved")
def test_a_snapshot_that_cannot_be_read_is_never_written_over(
    pytester: pytest.Pytester, update: str
) -> None:
    path = Path("sop_snapshots/lab/T_01.json")
    path.write_bytes(b"\xff")

    result = pytester.runpytest(*LAB, update)

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["E *assert *T_01.json: cannot be read: *"])
    assert b"\xff" == path.read_bytes()


def test_the_rules_of_the_project_say_what_is_compared(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nsop_snapshot_rules = arguments:measure=ignore")
    pytester.runpytest(*LAB, UPDATE)

    result = pytester.runpytest(*SWAPPED)

    assert 0 == result.ret
    assert '{"name": "measure", "arguments": {}}' in files()["T_01.json"]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        pytest.param("arguments:measure=never", "*is no rule; write *", id="unknown word"),
        pytest.param("replace:id=(", "*not a regular expression*", id="broken pattern"),
    ],
)
def test_a_rule_that_cannot_be_read_is_a_usage_error(
    pytester: pytest.Pytester, rule: str, why: str
) -> None:
    pytester.makeini(f"[pytest]\nsop_snapshot_rules = {rule}")

    result = pytester.runpytest(*LAB)

    assert 4 == result.ret
    result.stderr.fnmatch_lines([f"*sop_snapshot_rules: {why}"])


def test_the_folder_is_where_the_project_says(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nsop_committed_dir = tests/approved")
    Path("tests/approved").mkdir(parents=True)

    pytester.runpytest(*LAB, UPDATE)

    assert Path("tests/approved/sop_snapshots/lab/T_01.json").exists()


def test_private_values_and_secrets_are_not_written(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makeini("[pytest]\nsop_redact = blank")

    pytester.runpytest(*LAB, UPDATE)
    result = pytester.runpytest(*LAB)

    assert 0 == result.ret
    assert '{"name": "measure", "arguments": {"sample_id": "***"}}' in files()["T_01.json"]


def test_only_a_trajectory_can_be_compared(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_steps="""
        def test_steps(sop_run, sop_snapshot):
            assert "<snapshot of lab/T_01>" == repr(sop_snapshot)
            assert sop_snapshot != 1 if False else sop_run == sop_snapshot
        """
    )

    result = pytester.runpytest(*LAB, "-k", "T_01")

    result.stdout.fnmatch_lines(["E*TypeError: a snapshot is compared with a trajectory, such as*"])


# ---------------------------------------------------------------------- not approved


@pytest.mark.parametrize(
    "test",
    [
        pytest.param(TEST, id="where it is compared"),
        pytest.param(STRICT, id="where its test fails before"),
    ],
)
@pytest.mark.usefixtures("approved")
def test_a_wrong_run_is_never_approved(
    pytester: pytest.Pytester, workers: tuple[str, ...], test: str
) -> None:
    pytester.makepyfile(test_steps=test)
    before = files()

    result = pytester.runpytest(
        *("-psyrupy", "--sop-domain=lab", "--agent=clerks:wrong", "test_steps.py"),
        UPDATE,
        *workers,
    )

    assert 1 == result.ret
    assert before == files()
    result.stdout.fnmatch_lines(["6 not approved; what was approved before stays as it was"])
    result.stdout.fnmatch_lines_random([f"  lab/T_0{number}: wrong" for number in range(1, 7)])
    result.stdout.no_fnmatch_line("*unused*")


@pytest.mark.usefixtures("approved")
def test_a_run_that_raises_keeps_its_snapshot(pytester: pytest.Pytester) -> None:
    before = files()

    result = pytester.runpytest(
        *("-psyrupy", "--sop-domain=lab", "--agent=clerks:raising", "test_steps.py"),
        UPDATE,
    )

    result.assert_outcomes(passed=5, failed=1)
    assert before == files()
    result.stdout.fnmatch_lines(["1 not approved*", "  lab/T_02: error"], consecutive=True)


@pytest.mark.usefixtures("approved")
def test_a_run_that_breaks_its_contract_is_not_approved(
    pytester: pytest.Pytester, lab: Path
) -> None:
    path = lab / "metadata.json"
    rule = {"id": "unmeasured", "forbids": ["measure"]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "contract": {"rules": [rule]}}))
    before = files()

    result = pytester.runpytest(
        *("-psyrupy", "--sop-domain=lab", "--agent=clerks:changed", "test_steps.py"), UPDATE
    )

    result.assert_outcomes(failed=6)
    assert before == files()
    result.stdout.fnmatch_lines(
        ["6 not approved*", "  lab/T_01: breaks unmeasured"], consecutive=True
    )
    result.stdout.fnmatch_lines(["E         this run cannot be approved: breaks unmeasured"])


@pytest.mark.usefixtures("approved")
def test_a_test_that_ends_before_it_compares_approves_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_steps="""
        def test_steps(sop_run, sop_snapshot):
            assert sop_run.task.id != "T_04"
            assert sop_run.trajectory == sop_snapshot
        """
    )

    result = pytester.runpytest(*LAB, UPDATE)

    assert 6 == len(files())
    result.stdout.fnmatch_lines(
        ["1 not approved*", "  lab/T_04: its test ended before the comparison"], consecutive=True
    )


def test_a_test_that_is_not_run_approves_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_steps="""
        import pytest

        @pytest.fixture
        def broken():
            raise ValueError("no database")

        def test_steps(broken, sop_run, sop_snapshot):
            assert sop_run.trajectory == sop_snapshot
        """
    )

    result = pytester.runpytest(*LAB, UPDATE, "-k", "T_01")

    result.stdout.fnmatch_lines(["  lab/T_01: it was not run"])


# ---------------------------------------------------------------------- left over

SELECTIONS = (
    ("-k", "T_02"),
    ("-k", "not T_02"),
    ("--deselect", "test_steps.py::test_steps[lab/T_02]"),
    ("--sop-sample=first:2",),
    ("--sop-sample=2",),
    ("--sop-shard=1/2",),
    ("--sop-shard=2/2",),
    ("-n2", "-k", "not T_02"),
    ("-n2", "--sop-sample=first:2"),
    ("-n2", "--sop-shard=1/2"),
)


@pytest.mark.usefixtures("approved")
def test_what_a_selection_leaves_out_is_left_alone(pytester: pytest.Pytester) -> None:
    """One snapshot has no task, and only a session with every task looks for what is left over."""
    Path("sop_snapshots/lab/T_99.json").write_text("{}")
    before = files()

    for selection in SELECTIONS:
        result = pytester.runpytest(*LAB, *selection, UPDATE)

        assert 0 == result.ret, selection
        assert before == files(), selection
        result.stdout.no_fnmatch_line("*unused*")


@pytest.mark.usefixtures("approved")
def test_a_node_id_leaves_the_other_snapshots_alone(pytester: pytest.Pytester) -> None:
    before = files()

    result = pytester.runpytest(*LAB[:-1], "test_steps.py::test_steps[lab/T_02]", UPDATE)

    assert 0 == result.ret
    assert before == files()
    result.stdout.fnmatch_lines(["1 snapshot passed."])


@pytest.mark.usefixtures("approved")
def test_last_failed_leaves_the_other_snapshots_alone(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    Path("sop_snapshots/lab/T_99.json").write_text("{}")
    pytester.runpytest(*SWAPPED, "-pcacheprovider")
    before = files()

    result = pytester.runpytest(*LAB, "--lf", UPDATE, *workers)

    assert 0 == result.ret
    assert before == files()
    result.stdout.fnmatch_lines(["3 snapshots passed."])
    result.stdout.no_fnmatch_line("*unused*")


@pytest.mark.usefixtures("approved")
def test_a_snapshot_whose_row_is_gone_is_unused_and_fails(
    pytester: pytest.Pytester, lab: Path
) -> None:
    drop_row(lab, "T_04")

    result = pytester.runpytest(*LAB)

    assert 1 == result.ret
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(
        [
            "1 unused snapshot: the domain has no such task",
            "  lab/T_04",
            "pytest --snapshot-update deletes what is unused",
        ],
        consecutive=True,
    )
    assert "T_04.json" in files()


@pytest.mark.usefixtures("approved")
def test_an_update_deletes_what_is_unused_and_says_so(
    pytester: pytest.Pytester, lab: Path, workers: tuple[str, ...]
) -> None:
    drop_row(lab, "T_04")

    result = pytester.runpytest(*LAB, UPDATE, *workers)

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["1 unused snapshot deleted", "  lab/T_04"], consecutive=True)
    assert "T_04.json" not in files()
    assert 5 == len(files())


@pytest.mark.parametrize(
    ("option", "said"),
    [
        pytest.param("--snapshot-warn-unused", "1 unused snapshot: *", id="warn"),
        pytest.param("--snapshot-disable-unused", "5 snapshots passed.", id="disable"),
    ],
)
@pytest.mark.usefixtures("approved")
def test_the_options_of_syrupy_hold_for_what_is_unused(
    pytester: pytest.Pytester, lab: Path, option: str, said: str
) -> None:
    drop_row(lab, "T_04")

    result = pytester.runpytest(*LAB, option)

    assert 0 == result.ret
    result.stdout.fnmatch_lines([said])


@pytest.mark.usefixtures("approved")
def test_without_cleanup_an_update_deletes_nothing(pytester: pytest.Pytester, lab: Path) -> None:
    drop_row(lab, "T_04")

    result = pytester.runpytest(*LAB, UPDATE, "--snapshot-no-cleanup")

    assert 0 == result.ret
    assert 6 == len(files())


@pytest.mark.usefixtures("approved")
def test_a_session_that_is_cut_short_deletes_nothing(pytester: pytest.Pytester, lab: Path) -> None:
    drop_row(lab, "T_06")

    result = pytester.runpytest(*SWAPPED[:-2], "--agent=clerks:wrong", LAB[-1], UPDATE, "-x")

    assert 1 == result.ret
    assert 6 == len(files())
    result.stdout.no_fnmatch_line("*unused*")


@pytest.mark.usefixtures("approved")
def test_snapshots_of_a_domain_that_is_gone_are_named_and_kept(pytester: pytest.Pytester) -> None:
    Path("sop_snapshots/lab").rename("sop_snapshots/old")
    pytester.makeini("[pytest]\nsop_domain = lab\nsop_agent = clerks:steady")

    result = pytester.runpytest("-psyrupy", UPDATE)

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["no test asks for the snapshots of old; if the domain is gone,"])
    assert 6 == len(list(Path("sop_snapshots/old").iterdir()))


@pytest.mark.usefixtures("approved")
def test_snapshots_of_a_domain_that_was_not_asked_for_are_not_spoken_of(
    pytester: pytest.Pytester,
) -> None:
    Path("sop_snapshots/old").mkdir()

    result = pytester.runpytest(*LAB)

    result.stdout.no_fnmatch_line("*old*")


# ---------------------------------------------------------------------- in company


@pytest.mark.usefixtures("approved")
def test_unit_tests_and_snapshots_of_syrupy_stand_beside_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_unit="def test_one(snapshot): assert [1] == snapshot\ndef test_two(): pass"
    )
    options = ("-psyrupy", "--sop-domain=lab", "--agent=clerks:steady", "--rootdir=.", ".")

    first = pytester.runpytest(*options, UPDATE)
    result = pytester.runpytest(*options)

    assert 0 == first.ret
    assert 0 == result.ret
    result.stdout.fnmatch_lines(["7 snapshots passed."])
    result.stdout.no_fnmatch_line("*unused*")


def test_without_syrupy_the_fixture_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("-pno:syrupy", *LAB[1:])

    assert 4 == result.ret
    result.stderr.fnmatch_lines(
        ["*test_steps: the fixture sop_snapshot needs the plugin syrupy, which is switched off*"]
    )


def test_where_syrupy_is_not_installed_the_line_to_install_it_is_given(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_sopbench._hooks.snapshots.fixture.find_spec", lambda _: None)

    result = pytester.runpytest("-pno:syrupy", *LAB[1:])

    assert 4 == result.ret
    result.stderr.fnmatch_lines(["pip install syrupy; the extra 'snapshot' brings it"])


def test_without_syrupy_all_else_works(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_steps="def test_right(sop_run): sop_run.assert_correct()")

    result = pytester.runpytest("-pno:syrupy", *LAB[1:])

    assert 0 == result.ret


@pytest.mark.usefixtures("approved")
def test_built_in_items_are_compared_with_nothing(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("-psyrupy", "--sop-domain=lab", "--agent=clerks:steady", UPDATE)

    assert 0 == result.ret
    assert 6 == len(files())
    result.stdout.no_fnmatch_line("*snapshot*")


# ---------------------------------------------------------------------- at full size

WARD = ("-psyrupy", "--sop-domain=ward", "test_steps.py")
TASKS = 120


@pytest.fixture
def ward(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], approved_lab: Path
) -> tuple[str, ...]:
    """A domain with every task approved, under a gate and with one wrong answer."""
    pytester.makepyfile(test_steps=RIGHT_RUNS)
    make_domain("ward", tasks=TASKS)
    kept = approved_lab.with_name("ward")
    if not kept.exists():
        assert 0 == pytester.runpytest(*WARD, "--agent=habits:right", UPDATE).ret
        Path("sop_snapshots").rename(kept)
    shutil.copytree(kept, "sop_snapshots")
    assert TASKS == len(files())
    return (*WARD, "--agent=habits:loses_second", "--sop-fail-under=0.99")


@pytest.mark.parametrize(
    "more",
    [pytest.param((), id="compared"), pytest.param((UPDATE, "-n2"), id="updated by two workers")],
)
def test_one_wrong_task_of_many_under_a_gate_changes_no_file_and_exits_with_0(
    pytester: pytest.Pytester, ward: tuple[str, ...], more: tuple[str, ...]
) -> None:
    before = files()

    result = pytester.runpytest(*ward, *more)

    assert 0 == result.ret
    assert before == files()
    result.stdout.fnmatch_lines(
        [f"{TASKS - 1} snapshots passed.", f"TSR *correct, {TASKS - 1} of {TASKS} *"]
    )
    result.stdout.fnmatch_lines(["gate   TSR >= 99% holds*"])
    result.stdout.no_fnmatch_line("*unused*")
    assert (UPDATE in more) is any("1 not approved" in line for line in result.outlines)


def test_beside_the_built_in_test_a_gate_forgives_and_the_snapshots_hold(
    pytester: pytest.Pytester, ward: tuple[str, ...]
) -> None:
    """The same session runs the built-in test of every task and the user's."""
    before = files()

    result = pytester.runpytest(*ward, "sop:ward", UPDATE)

    assert 0 == result.ret
    assert before == files()
    result.stdout.fnmatch_lines([f"{TASKS - 1} snapshots passed.", "1 not approved*"])
    result.stdout.fnmatch_lines([f"TSR *correct, {TASKS - 1} of {TASKS} *"])
