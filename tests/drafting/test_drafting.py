"""From a brief to a domain that people have read, and a gate that is held on it."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from drafting_model import OUTLINE, SOP, WITH_MODEL, DraftingModel
from reading_drafts import claims_of, read_all, truth

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._drafting.reviewing import rows_to_read
from pytest_sopbench._loading.evidence import draft_of, read_review
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.cli import main

Drafts = Callable[..., Result]


def test_a_draft_has_forty_rows_with_the_labels_that_the_procedure_gives(
    draft: Drafts, folder: Path
) -> None:
    domain = load_domain(folder)

    labels = {task.id: task.expected["decision"] for task in domain.tasks}

    assert truth(folder) == labels
    assert 40 <= len(labels) <= 60
    assert 4 == len(Counter(labels.values()))
    assert 0.5 * len(labels) > max(Counter(labels.values()).values())
    assert "draft: 4" in Path("said.txt").read_text("utf-8")


def test_both_sides_of_each_cut_off_are_among_the_rows(draft: Drafts, folder: Path) -> None:
    with (folder / "data.csv").open(encoding="utf-8", newline="") as stream:
        rows = [one for one in csv.DictReader(stream) if one["price"]]

    assert {2, 3, 14, 15} <= {int(one["days_late"]) for one in rows}
    assert {80.0, 80.01} <= {float(one["price"]) for one in rows if one["member"] == "false"}
    assert folder.joinpath("drafting", "cards.json").read_text("utf-8").strip() == "[]"


def test_no_change_of_the_policy_goes_unnoticed_writes_included(
    draft: Drafts, folder: Path
) -> None:
    found = audit(folder, mutants=True)

    assert [] == [one for one in found.findings if one.rule == "mutant-survives"]
    assert ["answer", "state"] == json.loads((folder / "metadata.json").read_text())["judged"]


def test_what_was_asked_once_replays_without_a_key(
    draft: Drafts, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = (folder / "data.csv").read_bytes()
    for name in ("sop.md", "data.csv", "policy.py", "drafting/policy_a.py", "drafting/solver.json"):
        (folder / name).unlink()

    result = draft("--model", "openai/gpt-x")

    assert 0 == result.exit_code, result.output
    assert "0 requests asked" in result.stdout
    assert before == (folder / "data.csv").read_bytes()


def test_what_the_project_masks_is_in_no_recording_and_a_replay_needs_neither_it_nor_a_key(
    model: DraftingModel, drafts: Drafts, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, known_form = "tulip-77-harbour", "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    Path("pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nsop_redact = ["env:DESK_PASSWORD"]\n', "utf-8"
    )
    monkeypatch.setenv("DESK_PASSWORD", secret)
    with Path("brief.md").open("a", encoding="utf-8") as stream:
        stream.write(f"The register opens with {secret}, and the archive with {known_form}.\n")
    # A model repeats what it has read, in two of its replies.
    model.writer.outline = json.dumps({**OUTLINE, "scope": f"Opened with {secret}."})
    model.writer.sop = SOP.replace("This procedure", f"With {known_form} this procedure")
    first = drafts(*WITH_MODEL)
    kept = "".join(
        one.read_text("utf-8") for one in sorted((folder / "drafting" / "recordings").iterdir())
    )
    monkeypatch.delenv("DESK_PASSWORD")
    monkeypatch.delenv("OPENAI_API_KEY")
    for name in ("drafting/outline.json", "sop.md", "drafting/policy_a.py", "drafting/solver.json"):
        (folder / name).unlink()

    again = drafts("--model", "openai/gpt-x")

    assert 0 == first.exit_code, first.output
    assert secret in model.bodies[0]["messages"][1]["content"]
    assert secret not in kept
    assert known_form not in kept
    assert "***" in (folder / "sop.md").read_text("utf-8")
    assert 0 == again.exit_code, again.output
    assert "0 requests asked" in again.stdout


def test_a_run_that_ends_in_each_stage_comes_to_the_same_domain_and_pays_nothing_twice(
    model: DraftingModel, drafts: Drafts, folder: Path, drafted_once: Path
) -> None:
    """The model answers so many requests in all, and then no more."""
    stopped = [drafts(*WITH_MODEL) for model.most in (0, 1, 2, 3, 4, 5, 40)]
    model.most = 10_000

    result = drafts("--model", "openai/gpt-x")

    assert {2} == {one.exit_code for one in stopped}
    assert "stage 5 solver: the provider did not answer: BadRequestError" in stopped[-1].stderr
    paid = [json.dumps(one, sort_keys=True) for one in model.bodies]
    at_once = drafted_once / "domains" / "refunds"
    assert 0 == result.exit_code, result.output
    assert "35 answered by recordings" in result.stdout
    tasks = load_domain(folder).tasks
    assert 5 + 2 * len(tasks) + claims_of(tasks) == len({*paid}) == len(paid)
    for name in ("sop.md", "data.csv", "policy.py", "drafting/solver.json"):
        assert (at_once / name).read_bytes() == (folder / name).read_bytes()


def test_a_file_that_a_person_has_edited_is_kept_and_what_rests_on_it_is_done_again(
    draft: Drafts, folder: Path, model: DraftingModel
) -> None:
    edited = SOP.replace("80.00", "90.00")
    (folder / "sop.md").write_text(edited, "utf-8")
    model.writer.policy_a = "stop here"

    result = draft("--model", "openai/gpt-x")

    assert "stage 3 policy a" in result.stderr
    assert "2 procedure: done before (sop.md as edited)" in result.stdout
    assert edited == (folder / "sop.md").read_text("utf-8")
    assert {"tools": 1, "policy_a": 2} == dict(model.asked)


def test_a_gate_on_a_draft_is_not_held_and_on_a_reviewed_domain_it_is(
    draft: Drafts,
    folder: Path,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench")
    shutil.copytree(folder, pytester.path / "domains" / "refunds")
    monkeypatch.chdir(pytester.path)
    command = ("--sop-domain=refunds", "--agent=reference-policy")
    gate = "--sop-fail-under=0.9"
    count = len(load_domain(folder).task_ids)
    plain = pytester.runpytest_subprocess(*command)
    refused = pytester.runpytest_subprocess(*command, gate)
    again = CliRunner().invoke(main, ["gate", "last"])
    page = CliRunner().invoke(main, ["report", "last"])
    review = draft("--review", typed=read_all(folder))
    held = pytester.runpytest_subprocess(*command, gate)

    told = f"draft: {count} labels not reviewed"
    assert 0 == plain.ret
    plain.stdout.fnmatch_lines([f"*{told}*"])
    assert 1 == refused.ret
    refused.stdout.fnmatch_lines([f"gate*inconclusive*{told}*"])
    assert 3 == again.exit_code
    assert told in page.stdout
    assert (0, "refunds: reviewed by Ann") == (
        review.exit_code,
        review.stdout.splitlines()[-1][:24],
    )
    assert 0 == held.ret
    held.stdout.no_fnmatch_line("*draft:*")


def test_a_review_is_void_as_soon_as_a_file_changes(draft: Drafts, folder: Path) -> None:
    draft("--review", typed=read_all(folder))
    domain = load_domain(folder)
    whole = draft_of(domain)
    with (folder / "sop.md").open("a", encoding="utf-8") as stream:
        stream.write("\n")

    changed = draft_of(domain)

    assert "" == whole
    assert "labels not reviewed (a file has changed since Ann did)" in changed


def test_a_reader_who_holds_a_label_to_be_wrong_leaves_the_draft_a_draft(
    draft: Drafts, folder: Path
) -> None:
    result = draft("--review", typed=read_all(folder, but="person"))

    review = read_review(folder)
    assert 1 == result.exit_code
    assert "the reader holds the labels of C-" in result.stdout
    assert review is not None
    assert "" == review.time


def test_a_review_that_was_left_goes_on_where_it_stood(draft: Drafts, folder: Path) -> None:
    lines = read_all(folder).splitlines()
    draft("--review", typed="\n".join(lines[:12]) + "\n")
    left = read_review(folder)

    result = draft("--review", typed="\n".join(lines[12:]) + "\n")

    assert left is not None
    assert 10 == len(left.rows)
    assert "the review of Ann goes on: the procedure and 10 rows read" in result.stdout
    assert "Your name" not in result.stdout
    assert 0 == result.exit_code, result.output


def test_a_key_that_is_missing_is_named_without_options_of_another_command(
    drafts: Drafts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    result = drafts(*WITH_MODEL)

    assert 2 == result.exit_code
    assert "OPENAI_API_KEY" in result.output
    assert "a reply is not recorded, so the key of the provider is needed" in result.output
    assert "--sop-agent-arg" not in result.output


def test_rows_that_the_solver_has_not_answered_keep_a_draft_a_draft(
    model: DraftingModel, doubted: Drafts, folder: Path
) -> None:
    """Ids may stand for other rows by then: what counts is that the stage came to its end."""
    path = folder / "drafting" / "cards.json"
    (card,) = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps([{**card, "decision": "a", "by": "Ann"}]), "utf-8")
    model.most_solved = 0
    cut_short = doubted("--model", "openai/gpt-x")

    result = doubted("--review", typed=read_all(folder))

    review = read_review(folder)
    assert 2 == cut_short.exit_code
    assert 1 == result.exit_code
    assert "not reviewed: the solver has not answered the rows as they are" in result.stdout
    assert review is not None
    assert "" == review.time


def test_a_reader_who_does_not_understand_the_procedure_ends_the_review(
    draft: Drafts, folder: Path
) -> None:
    """The reader catches an ungrammatical procedure, which no check does."""
    result = draft("--review", typed="Ann\nn\n")

    assert 1 == result.exit_code
    assert "not reviewed: the procedure is not what the reader means" in result.stdout
    assert None is read_review(folder)


def test_rows_follow_a_decision_on_a_card(doubted: Drafts, folder: Path) -> None:
    decision = doubted("--review", typed="Ann\ny\na\n")

    doubted("--model", "openai/gpt-x")

    (card,) = json.loads((folder / "drafting" / "cards.json").read_text("utf-8"))
    with (folder / "data.csv").open(encoding="utf-8", newline="") as stream:
        at_80 = [one for one in csv.DictReader(stream) if one["price"] == "80"]
    assert 1 == decision.exit_code
    assert "the decisions are kept; rows follow them" in decision.stdout
    assert ("a", "Ann") == (card["decision"], card["by"])
    assert "voucher" in {one["decision"] for one in at_80}


def test_a_procedure_of_ones_own_stays_as_it_is(
    model: DraftingModel, drafts: Drafts, folder: Path
) -> None:
    Path("own.md").write_text(SOP, "utf-8")
    model.writer.policy_a = "stop here"

    drafts(*WITH_MODEL, "--sop", "own.md")

    assert SOP == (folder / "sop.md").read_text("utf-8")
    assert 0 == model.asked["sop"]
    assert 'text="sop"' in model.bodies[0]["messages"][1]["content"]


def test_a_dry_run_says_what_it_would_cost_and_asks_nothing(
    model: DraftingModel, drafts: Drafts, folder: Path
) -> None:
    result = drafts(*WITH_MODEL, "--dry-run")

    assert "estimate about 125 requests" in result.stdout
    assert [] == model.bodies
    assert not folder.exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(("--complexity", "3"), "--complexity is about a draft", id="no model"),
        pytest.param(("--model", "openai/m"), "a draft needs a brief", id="no brief"),
        pytest.param(
            (*WITH_MODEL, "--model", "openai/b", "--model", "openai/c"), "twice", id="three models"
        ),
        pytest.param(
            ("--from", "brief.md", "--model", "gpt-x"), "provider or the model", id="no provider"
        ),
    ],
)
def test_wrong_usage_is_named(drafts: Drafts, arguments: tuple[str, ...], told: str) -> None:
    result = drafts(*arguments)

    assert 2 == result.exit_code
    assert told in result.stderr


def test_a_domain_that_was_not_drafted_can_be_reviewed_as_well(
    drafts: Drafts, folder: Path
) -> None:
    drafts()
    domain = load_domain(folder)
    labels = [str(one.expected["decision"]) for one in rows_to_read(domain)]

    result = drafts("--review", typed="\n".join(["Ann", "y", *labels]) + "\n")

    review = read_review(folder)
    assert 0 == result.exit_code, result.output
    assert review is not None
    assert review.holds(folder)
    assert len(domain.task_ids) == len(review.rows)


@pytest.mark.parametrize("workers", [(), ("-pxdist", "-n1")], ids=["alone", "xdist"])
def test_an_agent_that_writes_a_review_gets_no_gate_held(
    draft: Drafts,
    folder: Path,
    workers: tuple[str, ...],
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the domain was before the first run counts."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench")
    shutil.copytree(folder, pytester.path / "domains" / "refunds")
    pytester.makepyfile(
        cheat="""
        from pathlib import Path
        from pytest_sopbench._loading.evidence import REVIEW, Review, files_hash, review_text

        def agent(inputs):
            folder = Path("domains/refunds")
            review = Review(name="me", time="now", hash=files_hash(folder))
            (folder / REVIEW).write_text(review_text(review))
            return {"decision": "refund"}
        """
    )
    command = ("--sop-domain=refunds", "--agent=cheat:agent", "--sop-gate=tsr=0.01")

    result = pytester.runpytest_subprocess(*command, *workers)

    assert (pytester.path / "domains" / "refunds" / "review.json").is_file()
    assert 1 == result.ret
    result.stdout.fnmatch_lines(["gate*draft: * labels not reviewed*"])
