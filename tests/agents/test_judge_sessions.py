"""A model judge in whole sessions and commands, against the stub of a provider."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench.cli import main
from tests.builders.saved import bare, sealed, seed_of

KEPT = "kept.jsonl"
RUBRIC = "It names the same parcel and says the same of it."
AGENT = '''
"""Answers a claim from its own number; every third reason names another parcel."""


def answer(number):
    parcel = 0 if number % 3 == 0 else number
    return {"refund": 10 * number, "reason": f"The parcel {parcel} was late."}


def clerk(inputs):
    return answer(int(inputs["claim"].rpartition("_")[2]))
'''


@pytest.fixture(autouse=True)
def as_a_user(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, stub: Any) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench -pxdist")
    pytester.makepyfile(clerks=AGENT)
    pytester.makeini("[pytest]\nsop_judge = openai/judge-1\n")


def make_claims(pytester: pytest.Pytester, tasks: int) -> Path:
    folder = pytester.path / "domains" / "claims"
    folder.mkdir(parents=True)
    (folder / "sop.md").write_text("Read the claim and decide.\n")
    reason = {"compare": "judge", "rubric": RUBRIC}
    metadata = {
        "name": "claims",
        "output_columns": ["refund", "reason"],
        "id_column": "claim",
        "input_columns": ["claim"],
        "outputs": {"reason": reason},
    }
    (folder / "metadata.json").write_text(json.dumps(metadata))
    with (folder / "data.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["claim", "refund", "reason"])
        for number in range(1, tasks + 1):
            table.writerow([f"C_{number}", 10 * number, f"the parcel {number} was late"])
    return folder


def session(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    given = ("--sop-domain=claims", "--agent=clerks:clerk", *options)
    if "-n2" in options:
        return pytester.run(sys.executable, "-m", "pytest", *given)
    return pytester.runpytest_inprocess(*given)


def sopbench(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def outcomes(pytester: pytest.Pytester, name: str = KEPT) -> Counter[str]:
    lines = (pytester.path / name).read_text().splitlines()
    return Counter(one["outcome"] for one in map(json.loads, lines) if one["type"] == "run")


def asked(stub: Any) -> int:
    return len(stub.requests)


def label(table: Path, wrong: int = 0) -> None:
    """Label as people would, but for the first so many rows."""
    with table.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for place, row in enumerate(rows):
        is_right = row["expected"].split()[2] == row["actual"].split()[2]
        row["label"] = "yes" if is_right is (place >= wrong) else "no"
    with table.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_a_whole_domain_is_judged_once_and_for_nothing_after_that(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 120)

    many = ("--sop-concurrency=64", "--sop-fail-under=0.5")
    first = session(pytester, *many, f"--sop-save={KEPT}")
    paid = asked(stub)
    second = session(pytester, *many, "--sop-save=again.jsonl")

    assert (120, 120) == (paid, asked(stub))
    assert {0} == {one.body.get("temperature") for one in stub.requests}
    assert {"correct": 80, "wrong": 40} == outcomes(pytester)
    assert outcomes(pytester) == outcomes(pytester, "again.jsonl")
    first.stdout.fnmatch_lines(
        [
            "judge  claims, reason: no calibration",
            "judge  120 judgements: 120 asked, 0 kept from before, 14,400 tokens",
            "       cost unknown",
        ]
    )
    second.stdout.fnmatch_lines(["judge  120 judgements: 0 asked, 120 kept from before"])


def test_a_kept_judgement_that_was_turned_by_hand_passes_nothing(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 6)
    session(pytester)
    for path in pytester.path.glob(".sop/judgements/??/*.json"):
        path.write_text(path.read_text().replace('"held": false', '"held": true'))

    result = session(pytester, f"--sop-save={KEPT}")

    assert {"correct": 4, "wrong": 2} == outcomes(pytester)
    assert 8 == asked(stub)
    told = "       kept judgements that were changed by hand were not believed, and asked again"
    result.stdout.fnmatch_lines([told])


def test_no_gate_rests_on_a_quote_that_stands_in_no_answer(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 6)
    session(pytester, f"--sop-save={KEPT}")
    header, *lines = (pytester.path / KEPT).read_bytes().splitlines()
    seed = seed_of(json.loads(header)["identity"])
    place = next(n for n, one in enumerate(lines) if b'"held":true' in one)
    said = bare(lines[place]).decode()
    lines[place] = sealed(re.sub(r'"quote":"[^"]+"', '"quote":"It is all right."', said), seed)
    (pytester.path / KEPT).write_bytes(b"\n".join((header, *lines, b"")))

    gate = sopbench("gate", KEPT, "--gate", "tsr=0.5")
    rescored = sopbench("rescore", KEPT, "--scoring=exact")

    assert (3, 2) == (gate.exit_code, rescored.exit_code)
    assert "quotes what the answer does not say" in gate.output
    assert "1 damaged line" in rescored.output


def test_two_workers_judge_as_one_process_does_and_its_cost_is_counted_apart(
    pytester: pytest.Pytester, stub: Any
) -> None:
    """Of a hundred tokens of the input forty are cached, and cost as much as others do here."""
    make_claims(pytester, 12)
    prices = 'date = 2030-01-31\n[models."openai/judge-1"]\ninput = 5.0\noutput = 25.0\n'
    (pytester.path / "prices.toml").write_text(prices)

    result = session(
        pytester, "-n2", "--sop-concurrency=8", f"--sop-save={KEPT}", "-osop_prices=prices.toml"
    )

    assert 12 == asked(stub)
    assert {"correct": 8, "wrong": 4} == outcomes(pytester)
    result.stdout.fnmatch_lines(
        ["judge  12 judgements: 12 asked, 0 kept from before, 1,440 tokens, cost $0.012"]
    )
    header, *runs = map(json.loads, (pytester.path / KEPT).read_text().splitlines())
    judge = header["options"]["judge"]
    assert (12, 0, 0) == (judge["asked"], judge["failed"], judge["kept"])
    assert 0.012 == judge["usage"]["cost_usd"]
    assert {None} == {run["usage"]["cost_usd"] for run in runs if run["type"] == "run"}
    assert not [*(pytester.path / ".sop" / "judgements" / "asked").iterdir()]


@pytest.mark.parametrize("how", [(), ("-n2",)], ids=["plain", "two workers"])
def test_a_budget_counts_what_the_judge_costs(
    pytester: pytest.Pytester, stub: Any, how: tuple[str, ...]
) -> None:
    """A judgement costs a tenth of a cent, and a run of the agent nothing."""
    make_claims(pytester, 60)
    prices = 'date = 2030-01-31\n[models."openai/judge-1"]\ninput = 5.0\noutput = 25.0\n'
    (pytester.path / "prices.toml").write_text(prices)
    pytester.makepyfile(clerks=AGENT.replace("(inputs)", "(inputs, tools)").replace(
        "    return answer(int", "    tools.report(usage={'cost_usd': 0.0})\n    return answer(int"
    ))  # fmt: skip

    result = session(pytester, *how, "--sop-budget=0.003usd", "-osop_prices=prices.toml")

    result.stdout.fnmatch_lines(
        ["budget $0.0* of $0.0030 spent ($0.0* of it by the judge), * runs were not"]
    )
    assert 1 == result.ret
    assert 3 <= asked(stub) < 60


def test_a_judge_without_a_price_ends_a_session_with_a_budget(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 60)
    pytester.makepyfile(clerks=AGENT.replace("(inputs)", "(inputs, tools)").replace(
        "    return answer(int", "    tools.report(usage={'cost_usd': 0.0})\n    return answer(int"
    ))  # fmt: skip

    result = session(pytester, "--sop-budget=5usd")

    assert 4 == result.ret
    result.stderr.fnmatch_lines(["ERROR: --sop-budget=5usd: the judge reported no cost, so *"])
    assert 1 == asked(stub)


def test_merged_shards_keep_the_doubt_and_add_up_what_was_asked(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 12)
    session(pytester, "--sop-shard=1/2", "--sop-save=a.jsonl")
    session(pytester, "--sop-shard=2/2", "--sop-save=b.jsonl")

    merged = sopbench("merge", "a.jsonl", "b.jsonl", "--out=whole.jsonl")
    gated = sopbench("gate", "whole.jsonl", "--gate", "tsr=0.5")

    assert (0, 3) == (merged.exit_code, gated.exit_code), merged.output
    options = json.loads((pytester.path / "whole.jsonl").read_text().splitlines()[0])["options"]
    assert {"claims": {"reason": "no calibration"}} == options["doubtful"]
    assert (12, 240) == (options["judge"]["asked"], options["judge"]["usage"]["output_tokens"])


def test_a_gate_on_another_field_does_not_wait_for_the_judge(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 3)

    result = session(pytester, "--sop-gate=field:refund=0.9", "--sop-gate=field:reason=0.1")

    result.stdout.fnmatch_lines(["gate*refund*holds*", "gate*reason*inconclusive*"])


def test_a_provider_that_dies_leaves_runs_not_judged_and_gates_open(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 12)
    stub.err("500", when=lambda _: asked(stub) > 4)

    result = session(
        pytester,
        f"--sop-save={KEPT}",
        "--sop-fail-under=0.1",
        "-osop_judge=openai/judge-1 max_retries=0",
    )

    assert 8 == outcomes(pytester)["unavailable"]
    assert 0 < outcomes(pytester)["correct"]
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["*not judged: reason: it raised InternalServerError*", "gate*inconclusive*"]
    )
    result.stdout.fnmatch_lines(["judge  12 judgements: 12 asked, *, 8 gave none*"])


def test_what_was_not_judged_is_judged_by_rescoring_and_nothing_else_is_paid_for(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 12)
    stub.err("500", when=lambda _: asked(stub) > 4)
    session(pytester, f"--sop-save={KEPT}", "-osop_judge=openai/judge-1 max_retries=0")
    stub.reset()

    first = sopbench("rescore", KEPT, "--scoring=exact", "--out=whole.jsonl")
    paid = asked(stub)
    second = sopbench("rescore", "whole.jsonl", "--scoring=exact", "--out=same.jsonl")

    assert (0, 0) == (first.exit_code, second.exit_code), first.output + second.output
    assert (8, 8) == (paid, asked(stub))
    assert "8 judgements: 8 asked, 0 kept from before, 960 tokens" in first.output
    assert {"correct": 8, "wrong": 4} == outcomes(pytester, "whole.jsonl")
    assert outcomes(pytester, "same.jsonl") == outcomes(pytester, "whole.jsonl")


def test_a_session_whose_judge_is_away_is_not_rescored(
    pytester: pytest.Pytester, stub: Any
) -> None:
    metadata = make_claims(pytester, 4) / "metadata.json"
    session(pytester, f"--sop-save={KEPT}")
    metadata.write_text(metadata.read_text().replace(RUBRIC, f"{RUBRIC} Nothing else."))
    stub.err("500")

    result = sopbench("rescore", KEPT, "--scoring=exact", "--out=again.jsonl")

    assert 1 == result.exit_code
    assert "4 runs cannot be judged again, so nothing is written" in result.output
    assert "the function or the model that compares its fields gave no judgement" in result.output
    assert not (pytester.path / "again.jsonl").exists()


def test_a_session_that_is_resumed_pays_for_what_was_not_judged(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 12)
    stub.err("500", when=lambda _: asked(stub) > 4)
    session(pytester, f"--sop-save={KEPT}", "-osop_judge=openai/judge-1 max_retries=0")
    stub.reset()

    session(pytester, f"--sop-resume={KEPT}", "--sop-save=whole.jsonl")

    assert 8 == asked(stub)
    assert {"correct": 8, "wrong": 4} == outcomes(pytester, "whole.jsonl")


@pytest.mark.parametrize("fault", ["prose", "refusal"])
def test_a_model_that_gives_no_judgement_passes_nothing(
    pytester: pytest.Pytester, stub: Any, fault: str
) -> None:
    make_claims(pytester, 2)
    stub.err(fault)

    result = session(pytester, f"--sop-save={KEPT}")

    assert {"unavailable": 2} == outcomes(pytester)
    result.stdout.fnmatch_lines(["*not judged: reason: it raised *NotJudgedError: the judge *"])


def test_a_gate_waits_for_people_and_rests_on_the_judge_once_they_agree(
    pytester: pytest.Pytester, stub: Any
) -> None:
    folder = make_claims(pytester, 60)
    before = session(pytester, "--sop-fail-under=0.5", f"--sop-save={KEPT}")
    drawn = sopbench("judge", "sample", KEPT, "-n", "60")
    label(pytester.path / "labels.csv", wrong=2)
    asked_before = asked(stub)

    checked = sopbench("judge", "check", "labels.csv")
    after = session(pytester, "--sop-fail-under=0.5", "--sop-save=after.jsonl")

    assert pytest.ExitCode.TESTS_FAILED == before.ret
    before.stdout.fnmatch_lines(
        ["gate*TSR*inconclusive*the judge of claims, reason must", "*not decide: no calibration"]
    )
    assert (0, 0, 0) == (drawn.exit_code, checked.exit_code, after.ret)
    assert asked_before == asked(stub)
    assert "agreement   96.67% of 60 labels, kappa 0.93 [0.75, 0.98]" in checked.output
    assert "disputed    2\n    row 2, C_" in checked.output
    after.stdout.fnmatch_lines(
        ["gate*TSR*holds*", "judge  claims, reason: 96.67% of 60 labels, kappa 0.9*"]
    )
    kept = json.loads((folder / "judge_calibration.json").read_text())["fields"]["reason"]
    assert (60, 2) == (kept["labels"], len(kept["disputed"]))


def test_pages_say_how_far_the_judge_can_be_relied_on_and_what_it_consumed(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 60)
    session(pytester, f"--sop-save={KEPT}")
    sopbench("judge", "sample", KEPT, "-n", "60")
    label(pytester.path / "labels.csv", wrong=2)
    sopbench("judge", "check", "labels.csv")
    sopbench("rescore", KEPT, "--scoring=exact", "--out=calibrated.jsonl")

    before = sopbench("report", KEPT)
    after = sopbench(
        "report", "calibrated.jsonl", "--to=md=p.md", "--to=json=p.json", "--to=html=p.html"
    )

    assert "- claims, reason: no calibration\n- 60 judgements: 60 asked" in before.output
    assert 0 == after.exit_code, after.output
    agreement = "claims, reason: 96.67% of 60 labels, kappa 0.93"
    assert f"- {agreement}" in Path("p.md").read_text()
    assert agreement in Path("p.html").read_text()
    judge = json.loads(Path("p.json").read_text())["judge"]
    assert (60, 7200) == (judge["asked"], judge["usage"]["input_tokens"] + 1200)
    assert (60, "") == (judge["fields"][0]["labels"], judge["fields"][0]["doubt"])


def test_a_task_that_must_pass_waits_for_the_judge_as_a_gate_does(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 2)
    (pytester.path / "sop_tasks.toml").write_text('["claims/C_1"]\nmust_pass = true\n')

    result = session(pytester, f"--sop-save={KEPT}")
    gated = sopbench("gate", KEPT, "--gate", "ecr=0.5")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["tasks  1 task must pass, and nobody knows", "*claims/C_1 the judge of claims, reason*"]
    )
    assert 3 == gated.exit_code


def test_the_gate_of_the_file_says_what_the_session_said(
    pytester: pytest.Pytester, stub: Any
) -> None:
    make_claims(pytester, 6)
    session(pytester, "--sop-fail-under=0.5", f"--sop-save={KEPT}")

    again = sopbench("gate", KEPT)
    free = sopbench("gate", KEPT, "--gate", "ecr=0.5")

    assert (3, 0) == (again.exit_code, free.exit_code)
    assert "no calibration" in again.output


def test_a_calibration_of_another_judge_is_none(pytester: pytest.Pytester, stub: Any) -> None:
    make_claims(pytester, 60)
    session(pytester, f"--sop-save={KEPT}")
    sopbench("judge", "sample", KEPT, "-n", "60")
    label(pytester.path / "labels.csv")
    sopbench("judge", "check", "labels.csv")

    other = "-osop_judge=openai/judge-1 temperature=1"
    result = session(pytester, "--sop-fail-under=0.5", other)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["judge  claims, reason: calibrated with another model, prompt*"])


def test_a_session_without_a_judge_says_what_to_set(pytester: pytest.Pytester, stub: Any) -> None:
    make_claims(pytester, 1)

    result = session(pytester, "-osop_judge=")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        ["*domain claims, field 'reason': no model is set to judge: sop_judge is empty"]
    )


def test_secrets_of_an_answer_stand_in_no_judgement(pytester: pytest.Pytester, stub: Any) -> None:
    make_claims(pytester, 2)

    session(pytester, "-osop_redact=parcel [0-9]+")

    kept = [path for path in (pytester.path / ".sop").rglob("*") if path.is_file()]
    assert any("judgements" in str(path) for path in kept)
    assert not [path for path in kept if b"parcel 1" in path.read_bytes()]
