"""Other plugins in one session: totals and exit status stay right beside each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("lab")

LAB = "--sop-domain=lab"
RIGHT = "--agent=habits:right"
THIRD = "--agent=habits:always_pass"

COUNTING = '''
from pathlib import Path


def second_time_right(inputs):
    """Right from the second call on, as an agent is that is re-rolled until it passes."""
    with Path("calls.txt").open("a") as log:
        log.write(inputs["sample_id"] + "\\n")
    return "pass"
'''


@pytest.fixture(params=[pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """How the session is distributed."""
    chosen: tuple[str, ...] = request.param
    return chosen


def test_reruns_never_replace_a_verdict(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    """Four wrong tasks stay wrong, however often they are run again, and each is paid once."""
    pytester.makepyfile(counting=COUNTING)

    result = pytester.runpytest(
        LAB, "--agent=counting:second_time_right", "-prerunfailures", "--reruns=2", *workers
    )

    calls = Path("calls.txt").read_text().split()
    assert 1 == result.ret
    assert 6 == len(calls)
    result.stdout.fnmatch_lines(
        ["TSR *correct, 2 of 6 *", "*8 runs were repeated; the first verdict counts*"]
    )


def test_reruns_leave_the_gate_to_decide(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(
        LAB, THIRD, "-prerunfailures", "--reruns=1", "--sop-fail-under=0.3", *workers
    )

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["gate   TSR >= 30% holds (got 33.33%)"])


def test_flaky_never_replaces_a_verdict(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(counting=COUNTING)

    result = pytester.runpytest(
        LAB, "--agent=counting:second_time_right", "-pflaky", "--force-flaky", "--max-runs=3"
    )

    assert 1 == result.ret
    assert 6 == len(Path("calls.txt").read_text().split())
    result.stdout.fnmatch_lines(["TSR *correct, 2 of 6 *"])


def test_a_time_limit_by_signal_fails_its_own_task(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        slow="""
        import time

        def agent(inputs, tools):
            if inputs["sample_id"] == "T_02":
                time.sleep(60)
            reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
            return "pass" if reading > 70 else "retest" if reading > 40 else "fail"
        """
    )

    result = pytester.runpytest(LAB, "--agent=slow:agent", "-ptimeout", "--timeout=4", *workers)

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["TSR *correct, 5 of 6 *", "ECR *1 timeout*"])


def test_a_time_limit_by_thread_costs_the_worker_and_one_task(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        slow="""
        import time

        def agent(inputs, tools):
            if inputs["sample_id"] == "T_02":
                time.sleep(60)
            reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
            return "pass" if reading > 70 else "retest" if reading > 40 else "fail"
        """
    )

    result = pytester.runpytest(
        LAB, "--agent=slow:agent", "-ptimeout", "--timeout=4", "--timeout-method=thread", "-n2"
    )

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["TSR *correct, 5 of 6 *", "ECR *1 crash*"])


def test_a_random_order_changes_nothing(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(
        LAB, THIRD, "-prandomly", "-p", "randomly", "--sop-fail-under=0.3", *workers
    )

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["TSR *correct, 2 of 6 *", "gate*holds*"])


def test_a_split_is_named_and_not_gated(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        LAB, THIRD, "-ppytest-split", "--splits=2", "--group=1", "--sop-fail-under=0.1"
    )

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["gate   not evaluated: *another plugin took 3 of 6*"])


@pytest.mark.parametrize(
    ("bound", "status", "workers"),
    [
        pytest.param("0", 0, (), id="enough coverage"),
        pytest.param("100", 1, ("-n2",), id="too little coverage, in two workers"),
    ],
)
def test_a_coverage_gate_decides_beside_ours(
    pytester: pytest.Pytester, bound: str, status: int, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest_subprocess(
        LAB,
        THIRD,
        "-ppytest_cov",
        "--cov=habits",
        f"--cov-fail-under={bound}",
        "--sop-fail-under=0.3",
        *workers,
    )

    assert status == result.ret
    result.stdout.fnmatch_lines(["gate   TSR >= 30% holds*"])


def test_an_unused_snapshot_of_syrupy_fails_beside_a_gate_that_holds(
    pytester: pytest.Pytester,
) -> None:
    """No gate of ours forgives it, and no status of ours is lost to it."""
    pytester.makepyfile(test_snap="def test_snap(snapshot): assert {'a': 1} == snapshot")
    pytester.runpytest("-psyrupy", "test_snap.py", "--snapshot-update")
    pytester.makepyfile(test_snap="def test_snap(snapshot, sop_run): pass")

    result = pytester.runpytest("-psyrupy", LAB, RIGHT, "--sop-fail-under=1", "test_snap.py")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["gate   TSR >= 100% holds*"])


def test_syrupy_does_not_overwrite_a_gate_that_fails(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("-psyrupy", LAB, THIRD, "--sop-fail-under=0.9")

    assert 1 == result.ret


def test_an_html_report_is_written(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        LAB, THIRD, "-phtml", "-pmetadata", "--html=report.html", "--sop-fail-under=0.3"
    )

    assert 0 == result.ret
    assert "T_01" in Path("report.html").read_text()


def test_annotations_point_at_the_row(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(pytester.path))

    result = pytester.runpytest(LAB, THIRD, "-ppytest_github_actions_annotate_failures")

    assert "domains/lab/data.csv" in result.stdout.str() + result.stderr.str()
    assert "line=2" in result.stdout.str() + result.stderr.str()


def test_async_tests_run_beside_async_agents(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_async="""
        import pytest

        @pytest.mark.asyncio
        async def test_by_asyncio(sop_run):
            sop_run.assert_correct()

        @pytest.mark.anyio
        async def test_by_anyio(sop_run):
            sop_run.assert_correct()

        @pytest.fixture
        def anyio_backend():
            return "asyncio"
        """
    )

    result = pytester.runpytest(
        LAB, "--agent=habits:right_later", "-pasyncio", "-panyio", "test_async.py"
    )

    result.assert_outcomes(passed=12)
