"""What a gated session shows of its misses; its exit status is in the table of statuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.commands import ran

pytestmark = pytest.mark.usefixtures("lab")

GATED = ("--sop-domain=lab", "--agent=habits:always_pass", "--sop-fail-under=0.1")


def test_a_miss_has_a_letter_of_its_own(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*GATED)

    result.stdout.fnmatch_lines(["domains/lab/data.csv mm.mm.*"])


def test_a_miss_has_a_word_of_its_own(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*GATED, "-v")

    result.stdout.fnmatch_lines(
        ["domains/lab/data.csv::T_01 MISSED*", "domains/lab/data.csv::T_03 PASSED*"]
    )


def test_misses_are_listed_with_what_was_wrong(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*GATED)

    result.stdout.fnmatch_lines(
        ["*4 misses (expected -> given: tasks)*", "grade 'retest' -> 'pass': T_01, T_04"]
    )
    result.stdout.no_fnmatch_line("FAILED*")
    result.stdout.no_fnmatch_line("*FAILURES*")


def test_misses_share_a_line_as_wide_as_the_terminal(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_domain("ward", tasks=99)

    narrow = pytester.runpytest("--sop-domain=ward", *GATED[1:])
    monkeypatch.setenv("COLUMNS", "160")
    wide = pytester.runpytest("--sop-domain=ward", *GATED[1:])

    for result, columns in ((narrow, 80), (wide, 160)):
        listed = [line for line in result.outlines if line.startswith("grade '")]
        assert 2 == len(listed)
        assert columns - len(", T_00 and 1 more") < max(map(len, listed)) <= columns


def test_verbosity_prints_every_miss_in_full(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    make_domain("ward", tasks=35)

    result = pytester.runpytest("--sop-domain=ward", *GATED[1:], "-v")

    assert 24 == sum(line.startswith("task     ward/T_") for line in result.outlines)


def test_quiet_lists_no_misses(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*GATED, "-q")

    result.stdout.no_fnmatch_line("grade 'retest'*")
    result.stdout.fnmatch_lines(["lab: TSR 33.3%*", "gate*holds*"])


def test_last_failed_knows_the_misses(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*GATED)

    result = pytester.runpytest(*GATED, "--lf")

    assert {"missed": 4, "deselected": 2} == result.parseoutcomes()


def test_without_a_gate_nothing_is_missed(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*GATED[:2])

    result.assert_outcomes(passed=2, failed=4)


def test_several_selectors_are_all_named(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        *GATED, "-k", "T_0", "-m", "sop", "--deselect", "domains/lab/data.csv::T_01"
    )

    result.stdout.fnmatch_lines(
        ["gate   not evaluated: -k, -m, --deselect took 1 of 6 selected tasks away*"]
    )


TOLERANT = ("--sop-domain=lab", "--agent=habits:wrong", "--sop-gate=unavailable=1")


@pytest.mark.usefixtures("lab")
def test_a_tolerance_without_a_gate_forgives_nothing(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*TOLERANT)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.assert_outcomes(failed=6)
    result.stdout.fnmatch_lines(
        [
            "gate   unavailable <= 100% holds (got 0%)",
            "       6 other failures, which no gate forgives",
        ]
    )


@pytest.mark.usefixtures("lab")
def test_a_file_that_was_asked_a_tolerance_alone_was_asked_no_gate(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest(*TOLERANT)

    result = ran("gate", "last")

    assert 2 == result.ret
    result.stderr.fnmatch_lines(["*it has no gate*"])


def test_a_miss_says_what_to_do_next_and_verbosity_how_much_is_printed(
    pytester: pytest.Pytester, lab: Path
) -> None:
    args = (f"--sop-domain={lab.name}", "--agent=habits:loses_second", "--sop-fail-under=0.5")
    again = "again    pytest --sop-domain=lab::T_02 --sop-agent=habits:loses_second"
    more = "more     sopbench show last T_02"

    plain = pytester.runpytest(*args)
    closer = pytester.runpytest(*args, "-v")
    quiet = pytester.runpytest(*args, "-q")

    plain.stdout.fnmatch_lines(["grade 'fail' -> 'unknown': T_02", again, more], consecutive=True)
    closer.stdout.fnmatch_lines(
        ["task     lab/T_02  domains/lab/data.csv:3", "inputs   sample_id='T_02'", again, more]
    )
    quiet.stdout.fnmatch_lines(["missed T_02"])


def test_a_test_whose_assertions_held_says_that_the_answer_is_judged_as_well(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.sop(domain={lab.name!r}, agent="habits:loses_second")
        def test_nothing(sop_run):
            pass
        """
    )

    result = pytester.runpytest()

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(
        [
            "wrong: grade is 'unknown', not 'fail'",
            "more     sopbench show last T_02",
            "note     your assertions held; the answer is judged as well",
            '         (@pytest.mark.sop(answer="ignored") turns this off)',
        ]
    )
