"""Findings that the metadata accept, with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_sopbench._audit.audit import audit, disagreements_written
from pytest_sopbench._audit.report import save_audit
from pytest_sopbench._audit.saved import saved_summary
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.cli import main
from pytest_sopbench.errors import LoadingError


def with_a_typing_error(lab: Any, *accept: dict[str, Any]) -> Any:
    return lab.metadata(licens="x", audit={"accept": list(accept)})


def test_an_accepted_finding_is_kept_apart_with_its_reason(lab: Any) -> None:
    with_a_typing_error(lab, {"rule": "unknown-key", "place": "licens", "reason": "read elsewhere"})

    found = audit(lab.folder)

    assert () == found.findings
    assert ["read elsewhere"] == [reason for _, reason in found.accepted]


def test_an_acceptance_that_applies_to_nothing_is_a_finding(lab: Any) -> None:
    lab.metadata(audit={"accept": [{"rule": "one-label", "reason": "so it is"}]})

    assert "'one-label' is accepted, and there is no such finding" == (
        lab.only("unused-acceptance").what
    )


def test_a_place_accepts_what_stands_there_and_nothing_else(lab: Any) -> None:
    with_a_typing_error(lab, {"rule": "unknown-key", "place": "other.json", "reason": "why"})

    assert {"unknown-key", "unused-acceptance"} == {one.rule for one in lab.findings()}


def test_line_1_is_not_line_12(lab: Any) -> None:
    lab.rows(lambda rows: rows[20].update(parcel_id=rows[10]["parcel_id"]))
    lab.metadata(audit={"accept": [{"rule": "duplicate-id", "place": "csv:1", "reason": "why"}]})

    assert lab.findings("duplicate-id")


@pytest.mark.parametrize(
    ("section", "what"),
    [
        pytest.param({"accept": [{"rule": "one-label"}]}, "has no reason", id="no reason"),
        pytest.param({"accept": [{"rule": "one-label", "reason": " "}]}, "no reason", id="blank"),
        pytest.param({"accept": [{"rule": "x", "reason": "y"}]}, "no rule 'x'", id="no rule"),
        pytest.param({"accept": ["one-label"]}, "form", id="a text"),
        pytest.param({"accept": {}}, "form", id="an object"),
        pytest.param([], "form", id="a list"),
        pytest.param({"accept": [], "x": 1}, "other keys", id="another key"),
    ],
)
def test_an_acceptance_in_another_form_is_a_finding(lab: Any, section: Any, what: str) -> None:
    lab.metadata(audit=section)

    assert what in lab.only("unused-acceptance").what


def test_loading_takes_the_key_for_known(lab: Any) -> None:
    lab.metadata(audit={"accept": []})

    assert () == load_domain(lab.folder).warnings


# Private columns: what stands in them is in no finding.


def test_a_private_value_is_in_no_finding(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["sender"] = f"{number + 1}00"
        rows[3]["sender"] = "Ada Lovelace"

    lab.metadata(private_columns=["sender"]).rows(change)

    found = lab.only("mixed-column")

    assert "most cells are numbers, and *** make it a column of text" == found.what


def test_a_private_value_in_the_words_of_an_error_is_masked(run_lab: Any) -> None:
    policy = (run_lab.folder / "policy.py").read_text("utf-8")
    raising = '    raise ValueError(call("weigh", parcel_id=inputs["parcel_id"])["sender"])\n'
    head = "def decide(inputs, call):\n"
    tools = {
        "weigh": {"key": ["parcel_id"], "returns": ["weight_kg", "sender"]},
        "screen": {"key": ["parcel_id"], "returns": ["risk"]},
    }
    run_lab.write(policy_py=policy.replace(head, f"{head}{raising}"))
    run_lab.metadata(private_columns=["sender"], tools=tools)
    run_lab.rows(lambda rows: [row.update(sender="Ada Lovelace") for row in rows])

    said = " ".join(one.what for one in run_lab.findings())

    assert "Lovelace" not in said


def test_labels_of_a_private_output_are_masked(run_lab: Any) -> None:
    run_lab.metadata(private_columns=["outcome"])
    run_lab.rows(lambda rows: rows[3].update(outcome="SHIP"))

    said = " ".join(one.what for one in run_lab.findings())

    assert said
    assert [] == [label for label in ("SHIP", "REFUSE", "INSURE", "INSPECT") if label in said]


@pytest.mark.parametrize("run_code", [True, False])
def test_code_that_was_not_run_is_told(lab: Any, *, run_code: bool) -> None:
    facts = audit(lab.folder, run_code=run_code).facts

    assert run_code == (() == facts)


# Saved audits, which sessions and listings show, and disagreements written into the domain.


def wrong(lab: Any, *positions: int) -> Any:
    def change(rows: list[dict[str, Any]]) -> None:
        for position in positions:
            row = rows[position]
            row["outcome"] = "SHIP" if row["outcome"] != "SHIP" else "REFUSE"

    return lab.rows(change)


def test_a_saved_audit_is_shown_until_a_file_changes(lab: Any, tmp_path: Path) -> None:
    lab.metadata(licens="x")
    domain = load_domain(lab.folder)

    nothing = saved_summary(domain, tmp_path)
    save_audit(audit(lab.folder), tmp_path)
    saved = saved_summary(domain, tmp_path)
    lab.metadata(title="Other parcels")

    assert ("", "1 warning", "") == (nothing, saved, saved_summary(domain, tmp_path))
    assert "*\n" == (tmp_path / ".sop" / ".gitignore").read_text("utf-8")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"hash": 1}', "\udcff"])
def test_a_saved_audit_that_cannot_be_read_says_nothing(
    lab: Any, tmp_path: Path, content: str
) -> None:
    save_audit(audit(lab.folder, run_code=False), tmp_path)
    path = tmp_path / ".sop" / "audits" / "parcels.json"
    path.write_text(content, "utf-8", "surrogateescape")

    assert "" == saved_summary(load_domain(lab.folder), tmp_path)


def test_listing_and_session_show_what_the_audit_found(
    lab: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\n")
    wrong(lab, 3, 40)
    monkeypatch.chdir(pytester.path)
    # A plugin of the machine may load numpy, which a process loads only once.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench")

    audited = CliRunner().invoke(main, ["audit", f"{lab.folder}"])
    listed = CliRunner().invoke(main, ["list", "-v", f"{lab.folder}"])
    run = pytester.runpytest(
        f"--sop-domain={lab.folder}", "--agent=reference-policy", "--sop-sample=first:1"
    )

    assert 1 == audited.exit_code
    assert "  audit    2 errors" in listed.output.splitlines()
    run.stdout.fnmatch_lines(["sop: parcels: audit: 2 errors"])


def test_an_audit_without_code_is_not_saved(
    lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    CliRunner().invoke(main, ["audit", "--no-code", "./parcels"])

    assert not (tmp_path / ".sop").exists()


def test_disagreements_are_written_with_their_reasons(lab: Any) -> None:
    wrong(lab, 3, 40)

    written = disagreements_written(lab.folder)

    domain = load_domain(lab.folder)
    said = {task.line: task.disagreement for task in domain.tasks if task.disagreement}
    assert 2 == written
    assert [5, 42] == list(said)
    assert all(one.startswith("policy: the SOP gives ") for one in said.values())
    assert () == audit(lab.folder).findings


def test_disagreements_in_lines_of_json_are_written_into_them(lab: Any) -> None:
    wrong(lab, 3)
    names, *rows = (lab.folder / "data.csv").read_text("utf-8").splitlines()
    lines = [dict(zip(names.split(","), row.split(","), strict=True)) for row in rows]
    for line in lines:
        for name in ("declared_value", "weight_kg", "risk"):
            line[name] = int(line[name])
    lab.write(data_csv=None, tasks_jsonl="".join(f"{json.dumps(line)}\n" for line in lines))

    written = disagreements_written(lab.folder)

    assert (1, 0) == (written, disagreements_written(lab.folder))
    assert [4] == [task.line for task in load_domain(lab.folder).tasks if task.disagreement]


def test_a_reason_that_stands_is_kept(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["why"] = ""
        for position in (3, 40):
            row = rows[position]
            row["outcome"] = "SHIP" if row["outcome"] != "SHIP" else "REFUSE"
        rows[3]["why"] = "the clerk said so"

    lab.metadata(known_disagreement_column="why").rows(change)

    written = disagreements_written(lab.folder)

    said = [task.disagreement for task in load_domain(lab.folder).tasks if task.disagreement]
    assert 1 == written
    assert "the clerk said so" == said[0]


def test_a_column_of_that_name_that_means_something_else_is_left_alone(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["known_disagreement"] = "x"
        rows[3]["outcome"] = "SHIP" if rows[3]["outcome"] != "SHIP" else "REFUSE"

    lab.rows(change)

    with pytest.raises(LoadingError, match="has a column 'known_disagreement' already"):
        disagreements_written(lab.folder)


def test_the_command_writes_them_and_says_how_many(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong(lab, 3, 40)
    monkeypatch.chdir(lab.folder.parent)

    done = CliRunner().invoke(main, ["audit", "--write-disagreements", "./parcels"])
    refused = CliRunner().invoke(main, ["audit", "--no-code", "--write-disagreements", "./parcels"])

    assert (0, 2) == (done.exit_code, refused.exit_code)
    assert "2 rows were given a reason" in done.output


def test_what_policy_and_labels_share_is_a_fact(lab: Any) -> None:
    wrong(lab, 3, 40)

    assert ("the policy agrees with the labels on 126 of 128 rows (98.4 %)",) == (
        audit(lab.folder).facts
    )
