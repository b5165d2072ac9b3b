"""What comparers found is kept: rescoring and resuming judge by it, or ask anew."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench.cli import main
from tests.builders.saved import sealed, seed_of

from .conftest import COMPARERS, ReadSaved, right_outcomes

CLAIMS = ("--sop-domain=claims", "--agent=clerks:counted")
FIRST = "\nsame_reason.__version__ = good_letter.__version__ = 1\n"
RAISES = """
async def same_reason(*given, **named):
    raise RuntimeError("asked again")

async def good_letter(*given, **named):
    raise RuntimeError("asked again")
"""


@pytest.fixture(autouse=True)
def first_version(pytester: pytest.Pytester, request: pytest.FixtureRequest) -> None:
    name = "sixty_claims" if "sixty_claims" in request.fixturenames else "claims"
    request.getfixturevalue(name)
    write_comparers(pytester, COMPARERS + FIRST)


def write_comparers(pytester: pytest.Pytester, code: str) -> None:
    (pytester.path / "own" / "compare.py").write_text(code)
    # Python takes bytecode for that of the source where size and second are the same.
    shutil.rmtree(pytester.path / "own" / "__pycache__", ignore_errors=True)
    forget()


def forget() -> None:
    """Let the next command import the comparers as a new process would."""
    for name in [name for name in sys.modules if name == "own" or name.startswith("own.")]:
        del sys.modules[name]


def rescored(*options: str) -> Result:
    done = CliRunner().invoke(main, ["rescore", "last", "--scoring=exact", "--out=again", *options])
    forget()
    return done


def calls() -> list[str]:
    return Path("calls.txt").read_text().splitlines()


def keep_runs(number: int) -> None:
    """Leave of the last session what a kill would have left."""
    path = Path(".sop/sessions/last.jsonl")
    parts: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    plain = [
        json.dumps({name: part[name] for name in part if name != "crc"}, separators=(",", ":"))
        for part in parts[: number + 1]
    ]
    seed = seed_of(parts[0]["identity"])
    lines = [sealed(plain[0]), *(sealed(line, seed) for line in plain[1:])]
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def test_rescoring_comes_to_the_same_without_asking(
    pytester: pytest.Pytester, sixty_claims: Path, saved: ReadSaved
) -> None:
    pytester.runpytest(*CLAIMS, "--sop-concurrency=64")
    write_comparers(pytester, RAISES + FIRST)

    done = rescored()

    assert "" == done.stderr
    assert right_outcomes() == saved(".sop/sessions/again.jsonl").outcomes


def test_resuming_takes_over_what_was_found(
    pytester: pytest.Pytester, sixty_claims: Path, saved: ReadSaved
) -> None:
    pytester.runpytest(*CLAIMS)
    keep_runs(40)
    pytester.makepyfile(test_own="def test_held(sop_run):\n    assert sop_run.outcome != 'error'\n")

    pytester.runpytest(*CLAIMS, "--sop-resume=last", "-n2", "-pxdist")

    assert right_outcomes() == saved().outcomes
    assert 1.0 == saved().runs[0]["compared"][1]["score"]


def test_a_comparer_that_is_another_one_is_asked_anew(
    pytester: pytest.Pytester, claims: Path, saved: ReadSaved
) -> None:
    pytester.runpytest(*CLAIMS)
    stricter = COMPARERS.replace("min(len(actual)", "0.5 * min(len(actual)")
    write_comparers(pytester, stricter + FIRST.replace("1", "2"))

    rescored()

    again = saved(".sop/sessions/again.jsonl")
    assert {"wrong"} == {*again.outcomes.values()}
    comparers = again.header["domains"]["claims"]["comparers"]
    assert "own.compare:good_letter version 2" == comparers["letter"]


def test_what_could_not_be_judged_is_asked_again_and_the_agent_is_not(
    pytester: pytest.Pytester, claims: Path, saved: ReadSaved
) -> None:
    write_comparers(pytester, RAISES + FIRST)
    pytester.runpytest(*CLAIMS)
    before = calls()
    write_comparers(pytester, COMPARERS + FIRST)

    rescored()

    assert {"unavailable"} == {*saved().outcomes.values()}
    assert right_outcomes(6) == saved(".sop/sessions/again.jsonl").outcomes
    assert before == calls()


def test_what_is_said_when_it_is_asked_again_is_masked(
    pytester: pytest.Pytester, claims: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what only the session names: a variable that its agent was given."""
    secrets = {"TOKEN": "pq-1234567890", "KEY": "sk-0987654321"}
    for name, secret in secrets.items():
        monkeypatch.setenv(name, secret)
    pytester.makeini("[pytest]\nsop_redact = env:TOKEN\n")
    pytester.makepyfile(
        keyed="from clerks import clerk\ndef agent(inputs, key): return clerk(inputs)"
    )
    write_comparers(pytester, RAISES + FIRST)
    pytester.runpytest("--sop-domain=claims", "--agent=keyed:agent", "--sop-agent-arg=key=env:KEY")
    told = RAISES.replace('"asked again"', f'"x" * 250 + " {" ".join(secrets.values())}"')
    write_comparers(pytester, told + FIRST)

    done = rescored()

    kept = Path(".sop/sessions/again.jsonl").read_text()
    assert "xxx *** ***" in kept
    assert not any(one[:6] in text for one in secrets.values() for text in (kept, done.output))


def test_a_comparer_of_a_conftest_has_left_what_it_found(
    pytester: pytest.Pytester, make_claims: Any, saved: ReadSaved
) -> None:
    pytester.makeconftest(
        "def pytest_sop_comparers():\n"
        "    from own.compare import same_reason\n"
        "    return {'ours': same_reason}\n"
    )
    make_claims(tasks=6, reason={"compare": "call", "comparer": "ours"})
    pytester.runpytest(*CLAIMS)

    done = rescored()

    assert "what it found when the runs were made is judged by" in done.stderr
    assert right_outcomes(6) == saved(".sop/sessions/again.jsonl").outcomes


def test_a_module_that_cannot_be_imported_any_more_has_left_nothing(
    pytester: pytest.Pytester,
) -> None:
    """It may have changed: nobody knows whether what it found before still holds."""
    pytester.runpytest(*CLAIMS)
    write_comparers(pytester, "def same_reason(:\n")

    done = rescored()

    assert 0 != done.exit_code
    assert "own.compare" in done.stderr
    assert not Path(".sop/sessions/again.jsonl").exists()


def test_a_baseline_of_another_comparer_is_refused_by_name(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*CLAIMS, "--sop-save=main")
    write_comparers(pytester, COMPARERS + FIRST.replace("1", "2"))

    compared = pytester.runpytest(*CLAIMS, "--sop-compare=main", "--sop-gate=lost=0")
    forget()
    resumed = pytester.runpytest(*CLAIMS, "--sop-resume=main")

    said = "reason of claims by own.compare:same_reason, version 1 there, version 2 here"
    told = " ".join(line.strip() for line in compared.outlines)
    assert f"not comparable: judged by other rules than ours (sopbench rescore): {said};" in told
    assert pytest.ExitCode.OK != compared.ret
    resumed.stderr.fnmatch_lines([f"*judged by other rules there ({said}*"])
