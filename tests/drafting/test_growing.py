"""A domain grows: its policies label new rows, and nothing that is there changes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from drafting_model import EXCLUDED, DraftingModel
from reading_drafts import claims_of, read_all, truth

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._audit.model import Severity
from pytest_sopbench._drafting import stages
from pytest_sopbench._drafting.reviewing import rows_to_read
from pytest_sopbench._loading.evidence import read_review
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._sessions.atomic import replace_file

Drafts = Callable[..., Result]


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "data.csv").open(encoding="utf-8", newline="") as stream:
        return [*csv.DictReader(stream)]


def leave_out(folder: Path, is_left_out: Callable[[dict[str, str]], bool]) -> None:
    """Take rows away, as a person would who thins a suite out."""
    rows = rows_of(folder)
    with (folder / "data.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(one for one in rows if not is_left_out(one))


def is_about_clause_3_4(row: dict[str, str]) -> bool:
    late = int(row["days_late"] or 0)
    return row["member"] == "false" and 3 <= late < 15


def test_rows_come_behind_those_that_are_there_which_stay_byte_for_byte(
    draft: Drafts, folder: Path
) -> None:
    before = (folder / "data.csv").read_bytes()
    ids = load_domain(folder).task_ids
    last = max(int(name.removeprefix("C-")) for name in ids)

    result = draft("--more", "20")

    domain = load_domain(folder)
    assert 0 == result.exit_code, result.output
    assert (folder / "data.csv").read_bytes().startswith(before)
    assert tuple(f"C-{last + at:04}" for at in range(1, 21)) == domain.task_ids[len(ids) :]
    assert truth(folder) == {task.id: task.expected["decision"] for task in domain.tasks}
    keys = [str(task.inputs["order_id"]) for task in domain.tasks]
    assert len({*keys}) == len(keys)
    assert f"20 rows added, C-{last + 1:04} to C-{last + 20:04}" in result.stdout


def test_growing_twice_finds_other_cases(draft: Drafts, folder: Path) -> None:
    draft("--more", "10")
    before = len(rows_of(folder))

    draft("--more", "10")

    cases = [tuple([*one.values()][2:]) for one in rows_of(folder)]
    assert 10 == len({*cases[before:]})
    assert {*cases[:before]}.isdisjoint(cases[before:])


def test_a_clause_gets_the_rows_that_it_lacks_on_both_sides_of_its_cut_off(
    draft: Drafts, folder: Path
) -> None:
    leave_out(folder, is_about_clause_3_4)
    before = len(rows_of(folder))

    result = draft("--for", "clause 3.4")

    new = rows_of(folder)[before:]
    at_cut_off = {float(one["price"]) for one in new if is_about_clause_3_4(one)}
    left = [one for one in audit(folder, mutants=True).findings if one.rule == "mutant-survives"]
    assert 0 == result.exit_code, result.output
    assert {80.0, 80.01} <= at_cut_off
    assert len(new) <= 12
    assert not [one for one in left if "price" in one.place.change]
    assert truth(folder) == {one["case_id"]: one["decision"] for one in rows_of(folder)}


def test_a_clause_that_lacks_nothing_gets_nothing(draft: Drafts, folder: Path) -> None:
    draft("--for", "3.4")
    before = (folder / "data.csv").read_bytes()

    result = draft("--for", "3.4")

    assert 0 == result.exit_code
    assert result.stdout.startswith("0 rows added")
    assert before == (folder / "data.csv").read_bytes()


def test_as_many_rows_of_a_clause_as_are_asked_for_all_come_to_it(
    draft: Drafts, folder: Path
) -> None:
    before = len(rows_of(folder))

    draft("--for", "clause 3.4", "--more", "8")

    assert [True] * 8 == [is_about_clause_3_4(one) for one in rows_of(folder)[before:]]


def test_a_clause_that_no_comment_names_is_refused_with_those_that_are_named(
    draft: Drafts, folder: Path
) -> None:
    result = draft("--for", "clause 10.3")

    assert 2 == result.exit_code
    assert "no comment of policy.py names clause 10.3" in result.stderr
    assert "it names 2.2, 3.1, 3.2, 3.3, 3.4" in result.stderr


def test_where_policies_differ_on_a_new_case_there_is_a_card_and_no_row(
    draft: Drafts, folder: Path
) -> None:
    (folder / "drafting" / "policy_b.py").write_text(EXCLUDED, "utf-8")
    leave_out(folder, is_about_clause_3_4)
    before = len(rows_of(folder))

    result = draft("--for", "clause 3.4")

    (card,) = json.loads((folder / "drafting" / "cards.json").read_text("utf-8"))
    assert "1 new card: the policies differ" in result.stdout
    assert ("policies", "3.4") == (card["about"], card["clause"])
    new = rows_of(folder)[before:]
    assert new
    assert "80" not in {one["price"] for one in new if is_about_clause_3_4(one)}


def test_a_dry_run_says_how_many_and_writes_nothing(draft: Drafts, folder: Path) -> None:
    before = (folder / "data.csv").read_bytes()

    result = draft("--more", "5", "--dry-run")

    assert "5 rows would be added" in result.stdout
    assert before == (folder / "data.csv").read_bytes()


def test_a_review_is_void_and_asks_of_the_new_rows_alone(draft: Drafts, folder: Path) -> None:
    draft("--review", typed=read_all(folder))
    draft("--more", "6")
    void = read_review(folder)
    assert void is not None
    new = [one.id for one in rows_to_read(load_domain(folder), but=void.tasks)]
    right = truth(folder)

    result = draft("--review", typed="\n".join(["Ann", *(right[one] for one in new)]) + "\n")

    review = read_review(folder)
    assert not void.holds(folder)
    assert {*load_domain(folder).task_ids[-6:]} == {*new}
    assert "you have reviewed all but 6 new rows" in result.stdout
    assert 6 == sum(line.startswith("row ") for line in result.stdout.splitlines())
    assert review is not None
    assert review.holds(folder), result.output


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(("sop.md", "euros", "dollars"), id="the procedure"),
        pytest.param(("data.csv", ",voucher", ",refund"), id="a label that was read"),
    ],
)
def test_a_review_of_which_anything_else_has_changed_begins_anew(
    draft: Drafts, folder: Path, changed: tuple[str, str, str]
) -> None:
    draft("--review", typed=read_all(folder))
    draft("--more", "6")
    name, old, new = changed
    text = (folder / name).read_text("utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), "utf-8")

    result = draft("--review", typed="Ann\nn\n")

    assert "you have reviewed" not in result.stdout


def test_another_reader_is_asked_everything(draft: Drafts, folder: Path) -> None:
    draft("--review", typed=read_all(folder))
    draft("--more", "6")

    result = draft("--review", typed="Bob\nn\n")

    assert "you have reviewed" not in result.stdout


def test_the_solver_is_asked_about_new_rows_alone_even_without_recordings(
    draft: Drafts, folder: Path, model: DraftingModel
) -> None:
    for one in (folder / "drafting" / "recordings").iterdir():
        one.unlink()

    result = draft("--more", "5", "--model", "openai/gpt-x")

    solved = json.loads((folder / "drafting" / "solver.json").read_text("utf-8"))
    assert 0 == result.exit_code, result.output
    new = load_domain(folder).tasks[-5:]
    assert {"solver": 10 + claims_of(new)} == dict(model.asked)
    assert [*load_domain(folder).task_ids] == [one["task"] for one in solved]
    assert f"the solver agrees with {len(solved)} of {len(solved)} labels" in result.stdout


def test_rows_that_were_added_are_a_drafts_own_also_if_it_was_killed_there(
    draft: Drafts, folder: Path, model: DraftingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def killed(path: Path) -> Generator[Any]:
        with replace_file(path) as file:
            yield file
        if path.name == "data.csv":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stages, "replace_file", killed)
        draft("--more", "5")

    result = draft("--model", "openai/gpt-x")

    assert 45 <= len(rows_of(folder))
    assert "4 cases: done before\n" in result.stdout
    assert 2 * 5 <= model.asked["solver"] <= 3 * 5


def test_a_domain_that_was_not_drafted_grows_by_its_own_policy(
    drafts: Drafts, folder: Path
) -> None:
    drafts()
    before = (folder / "data.csv").read_bytes()
    calls = (folder / "expected_calls.jsonl").read_bytes()
    count = len(load_domain(folder).task_ids)

    result = drafts("--more", "12")

    domain = load_domain(folder)
    found = audit(folder, mutants=True).findings
    assert 0 == result.exit_code, result.output
    assert (folder / "data.csv").read_bytes().startswith(before)
    assert (folder / "expected_calls.jsonl").read_bytes().startswith(calls)
    assert count + 12 == len(domain.task_ids) == len(domain.expected_calls)
    assert [] == [one.what for one in found if one.severity is Severity.ERROR]
    assert not (folder / "drafting").exists()


def test_the_clause_of_a_constant_gets_rows_beyond_what_the_suite_has(
    drafts: Drafts, folder: Path
) -> None:
    """No row lies above the cut-off, so the range of the column is that of the policy as well."""
    drafts()
    leave_out(folder, lambda row: float(row["amount"]) > 200)
    (folder / "expected_calls.jsonl").unlink()
    before = len(rows_of(folder))

    drafts("--for", "clause 3.3")

    new = rows_of(folder)[before:]
    assert {200.0, 200.01} <= {float(one["amount"]) for one in new}


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        pytest.param("policy.py", None, "there is no policy.py", id="no policy"),
        pytest.param("tools.py", "class Manager: ...\n", "what its code answers", id="code"),
    ],
)
def test_a_domain_whose_new_labels_would_prove_nothing_is_refused(
    drafts: Drafts, folder: Path, file: str, text: str | None, told: str
) -> None:
    drafts()
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text, "utf-8")
        metadata = json.loads((folder / "metadata.json").read_text("utf-8"))
        metadata["tools"].pop("open_trace")
        (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    before = (folder / "data.csv").read_bytes()

    result = drafts("--more", "5")

    assert 2 == result.exit_code
    assert told in result.stderr
    assert before == (folder / "data.csv").read_bytes()
