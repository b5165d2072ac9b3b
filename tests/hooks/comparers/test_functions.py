"""A field that a function compares, as a user sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

from .conftest import COMPARERS, MakeClaims, ReadSaved, right_outcomes, write_code

CLAIMS = ("--sop-domain=claims", "--agent=clerks:clerk")


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(("--sop-concurrency=64",), id="64 in flight"),
        pytest.param(("-n2", "-pxdist"), id="workers"),
    ],
)
def test_verdicts_are_the_same_however_runs_are_made(
    pytester: pytest.Pytester, sixty_claims: Path, saved: ReadSaved, how: tuple[str, ...]
) -> None:
    pytester.runpytest(*CLAIMS, *how)

    assert right_outcomes() == saved().outcomes


def test_a_miss_says_what_the_comparer_says(pytester: pytest.Pytester, claims: Path) -> None:
    result = pytester.runpytest(*CLAIMS)

    result.stdout.fnmatch_lines(["*reason: lacks parcel, number, 3*"])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("refuses", "it raised RuntimeError: no dictionary"),
        ("hangs", "it was still comparing after 0.01 s"),
        ("text", "it returned a text"),
        ("mutates", "it changed what it was given to compare"),
    ],
)
def test_a_comparer_that_fails_makes_no_pass(
    pytester: pytest.Pytester,
    claims: Path,
    make_claims: MakeClaims,
    saved: ReadSaved,
    name: str,
    why: str,
) -> None:
    make_claims(tasks=2, reason={"compare": "call", "comparer": f"own.compare:{name}"})

    # No other is to be stopped, however busy the machine is.
    seconds = 0.01 if name == "hangs" else 60

    result = pytester.runpytest(*CLAIMS, f"-osop_comparer_timeout={seconds}")

    assert {"C_01": "unavailable", "C_02": "unavailable"} == saved().outcomes
    result.stdout.fnmatch_lines([f"*not judged: reason: {why}*"])


HOSTILE = """
import os
import sys


class Claims:
    @property
    def __class__(self):
        return bool


def leaves():
    sys.stdout.close()
    raise KeyboardInterrupt


def changes():
    os.environ["OURS"] = "1"
    print("::error::not ours")
    sys.stdout = None
    return False


DOES = {"C_01": Claims, "C_02": leaves, "C_03": changes}


def hostile(expected, actual, *, field, task, answer):
    return DOES.get(task.id, lambda: True)()
"""


@pytest.mark.parametrize("how", [("-n0",), ("--sop-concurrency=64",)], ids=["one", "64 in flight"])
def test_a_hostile_comparer_ends_no_session_and_touches_no_other_run(
    pytester: pytest.Pytester,
    claims: Path,
    make_claims: MakeClaims,
    saved: ReadSaved,
    monkeypatch: pytest.MonkeyPatch,
    how: tuple[str, ...],
) -> None:
    monkeypatch.setenv("OURS", "0")
    (pytester.path / "own" / "bad.py").write_text(HOSTILE)
    make_claims(tasks=6, reason={"compare": "call", "comparer": "own.bad:hostile"})

    result = pytester.runpytest(*CLAIMS, *how)

    wrong = {"C_03": "wrong", "C_04": "wrong", "C_05": "wrong", "C_06": "correct"}
    assert {"C_01": "unavailable", "C_02": "unavailable", **wrong} == saved().outcomes
    result.stdout.fnmatch_lines(["TSR * 1 of 6*"])
    result.stdout.no_fnmatch_line("::error::*")


def test_a_comparer_may_be_registered_in_a_conftest(
    pytester: pytest.Pytester, make_claims: MakeClaims, saved: ReadSaved
) -> None:
    write_code(pytester)
    pytester.makeconftest(
        """
        from own.compare import same_reason

        def pytest_sop_comparers():
            return {"our-reason": same_reason}
        """
    )
    make_claims(tasks=6, reason={"compare": "call", "comparer": "our-reason"})

    pytester.runpytest(*CLAIMS)

    assert right_outcomes(6) == saved().outcomes


@pytest.mark.usefixtures("claims")
def test_a_hook_that_returns_no_comparers_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_sop_comparers(): return [len]")

    result = pytester.runpytest(*CLAIMS)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        ["ERROR: *pytest_sop_comparers: comparers by name expected, got list*"]
    )


REFUSED = {
    "an unknown module": ("ours:same", "importing ours failed: ModuleNotFoundError"),
    "an unknown function": ("own.compare:same", "module 'own.compare' has no 'same'"),
    "an unknown name": ("same", "none is registered by that name"),
    "no function": ("own.compare:asyncio", "it cannot be called"),
    "a function of two": ("operator:eq", "it cannot be called: "),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_comparer_that_cannot_be_used_stops_the_session(
    pytester: pytest.Pytester, claims: Path, make_claims: MakeClaims, case: str
) -> None:
    comparer, why = REFUSED[case]
    make_claims(tasks=1, reason={"compare": "call", "comparer": comparer})

    result = pytester.runpytest(*CLAIMS)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"*field 'reason': comparer {comparer!r}: {why}*"])


def test_a_function_that_returns_a_number_needs_a_threshold(
    pytester: pytest.Pytester, claims: Path, make_claims: MakeClaims
) -> None:
    (pytester.path / "own" / "share.py").write_text(
        "def share(expected, actual, *, field, task, answer) -> float:\n    return 1.0\n"
    )
    make_claims(tasks=1, reason={"compare": "call", "comparer": "own.share:share"})

    result = pytester.runpytest(*CLAIMS)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*nothing says from where on that is right*", '*"at_least": 0.8*'])


def test_a_domain_from_elsewhere_names_no_code(
    pytester: pytest.Pytester, claims: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    claims.rename(elsewhere / "claims")

    result = pytester.runpytest(*CLAIMS, f"-osop_paths={elsewhere}")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*lies outside the project, and names code to call*"])


def test_the_published_scorer_knows_no_comparer(pytester: pytest.Pytester, claims: Path) -> None:
    result = pytester.runpytest(*CLAIMS, "-osop_scoring=published")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*'reason' is compared otherwise*"])


def test_a_comparer_that_changed_makes_another_judging_hash(
    pytester: pytest.Pytester, claims: Path, saved: ReadSaved
) -> None:
    pytester.runpytest(*CLAIMS)
    before = saved().header["judging"]
    (pytester.path / "own" / "compare.py").write_text(f"{COMPARERS}\nNEW = 1\n")

    pytester.runpytest(*CLAIMS)

    assert before != saved().header["judging"]


def test_a_comparer_may_say_its_version_itself(
    pytester: pytest.Pytester, claims: Path, saved: ReadSaved
) -> None:
    versions = "\nsame_reason.__version__ = good_letter.__version__ = 2\n"
    code = pytester.path / "own" / "compare.py"
    code.write_text(COMPARERS + versions)
    pytester.runpytest(*CLAIMS)
    before = saved().header["judging"]
    code.write_text(f"{COMPARERS}{versions}\nNEW = 1\n")

    pytester.runpytest(*CLAIMS)

    assert before == saved().header["judging"]


@pytest.mark.parametrize(
    "how",
    [("-n0",), ("-n2", "-pxdist")],
    ids=["one", "workers"],
)
def test_comparisons_without_code_come_to_the_same(
    pytester: pytest.Pytester,
    sixty_claims: Path,
    make_claims: MakeClaims,
    saved: ReadSaved,
    how: tuple[str, ...],
) -> None:
    make_claims(
        refund={"type": "number", "units": ["€", "EUR"], "tolerance": 0.01},
        decision={"compare": "matches"},
        items={"type": "list", "key": "sku"},
        reason={"compare": "contains_all"},
        letter={"compare": "similar", "at_least": 0.9},
        day={"type": "date", "formats": ["%d.%m.%Y"]},
        route={"compare": "one_of"},
        plan={"compare": "json", "ignored_paths": ["note"]},
    )

    result = pytester.runpytest(*CLAIMS, *how)
    rescored = CliRunner().invoke(main, ["rescore", "last", "--scoring=exact", "--out=again"])

    assert right_outcomes() == saved().outcomes
    assert ("", right_outcomes()) == (rescored.stderr, saved(".sop/sessions/again.jsonl").outcomes)
    result.stdout.fnmatch_lines(["*plan: stops: missing*"])
    assert {"similar version 1"} == {*saved().header["domains"]["claims"]["comparers"].values()}
