"""`sopbench audit`, as a user types it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.builders.commands import sopbench

Audit = Callable[..., Result]


@pytest.fixture
def sopbench_audit(lab: Any, monkeypatch: pytest.MonkeyPatch) -> Audit:
    """Run the command in the folder above the domain, without code: a process takes a second."""
    monkeypatch.chdir(lab.folder.parent)

    return partial(sopbench, "audit", "--no-code")


def test_a_sound_domain_ends_with_0(sopbench_audit: Audit) -> None:
    result = sopbench_audit("./parcels")

    assert (0, "parcels: sound") == (result.exit_code, result.output.splitlines()[-1])


def test_an_error_ends_with_1_and_fits_80_columns(lab: Any, sopbench_audit: Audit) -> None:
    lab.rows(lambda rows: [row.update(outcome="SHIP") for row in rows])

    result = sopbench_audit("./parcels")

    assert 1 == result.exit_code
    assert "error   one-label: data.csv, column 'outcome'" in result.output
    assert 80 >= max(map(len, result.output.splitlines()))


def test_a_warning_costs_only_where_asked(lab: Any, sopbench_audit: Audit) -> None:
    lab.metadata(licens="x")

    assert 0 == sopbench_audit("./parcels").exit_code
    assert 1 == sopbench_audit("--strict", "./parcels").exit_code


def test_code_is_run_unless_that_is_refused(lab: Any, sopbench_audit: Audit) -> None:
    lab.write(policy_py="raise LookupError('on purpose')")

    refused = sopbench_audit("./parcels")
    run = sopbench("audit", "./parcels")

    assert (0, 1) == (refused.exit_code, run.exit_code)
    assert "on purpose" in run.output


def test_no_domain_and_an_unknown_one_are_wrong_usage(sopbench_audit: Audit) -> None:
    assert 2 == sopbench_audit().exit_code
    assert 2 == sopbench_audit("nowhere").exit_code


def test_a_folder_that_is_no_domain_is_audited(sopbench_audit: Audit, lab: Any) -> None:
    (lab.folder.parent / "empty").mkdir()

    result = sopbench_audit("./empty")

    assert 1 == result.exit_code
    assert "missing-file" in result.output


def test_a_bundled_domain_is_found_by_its_name(sopbench_audit: Audit) -> None:
    assert "audit: dangerous_goods" in sopbench_audit("dangerous_goods").output


def test_programs_are_given_places_and_counts(lab: Any, sopbench_audit: Audit) -> None:
    lab.metadata(licens="x")

    (said,) = json.loads(sopbench_audit("--json", "./parcels").output)

    assert {"error": 0, "warning": 1, "note": 0} == said["counts"]
    (finding,) = said["findings"]
    assert {
        "file": "metadata.json",
        "line": None,
        "column": "licens",
        "tool": None,
        "change": None,
    } == (finding["place"])


def test_few_findings_of_a_rule_are_shown_unless_more_are_asked_for(
    lab: Any, sopbench_audit: Audit
) -> None:
    lab.metadata(**{f"key_{number}": 1 for number in range(9)})

    assert "unknown-key: and 4 more (-v shows them)" in sopbench_audit("./parcels").output
    assert 9 == sopbench_audit("-v", "./parcels").output.count("unknown-key: metadata.json")


# The properties that the published schema of SARIF 2.1.0 requires, and the words it allows.
LEVELS = {"none", "note", "warning", "error"}


def check_sarif(log: dict[str, Any]) -> list[dict[str, Any]]:
    assert "2.1.0" == log["version"]
    results: list[dict[str, Any]] = []
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        assert all(rule["id"] for rule in driver["rules"])
        assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
        for result in run["results"]:
            assert result["message"]["text"]
            assert result["level"] in LEVELS
            assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
            for location in result["locations"]:
                physical = location["physicalLocation"]
                assert physical["artifactLocation"]["uri"]
                assert 1 <= physical.get("region", {"startLine": 1})["startLine"]
            for suppression in result.get("suppressions", ()):
                assert suppression["kind"] in {"inSource", "external"}
            results.append(result)
    return results


def test_sarif_has_what_the_format_requires(lab: Any, sopbench_audit: Audit) -> None:
    lab.rows(lambda rows: rows[7].update(parcel_id=rows[2]["parcel_id"]))
    lab.metadata(licens="x", audit={"accept": [{"rule": "unknown-key", "reason": "why"}]})

    result = sopbench_audit("--sarif", "audit.sarif", "./parcels")

    results = check_sarif(json.loads(Path("audit.sarif").read_text("utf-8")))
    assert 1 == result.exit_code
    (twice,) = [one for one in results if one["ruleId"] == "duplicate-id"]
    (accepted,) = [one for one in results if one["ruleId"] == "unknown-key"]
    physical = twice["locations"][0]["physicalLocation"]
    assert ("parcels/data.csv", 4) == (
        physical["artifactLocation"]["uri"],
        physical["region"]["startLine"],
    )
    assert "why" == accepted["suppressions"][0]["justification"]


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_log_that_a_disk_does_not_take_leaves_the_one_before(
    sopbench_audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Path("audit.sarif")
    log.write_text("before")
    monkeypatch.setattr(Path, "replace", full)

    result = sopbench_audit("--sarif", "audit.sarif", "./parcels")

    assert (2, "before") == (result.exit_code, log.read_text())
    assert "audit.sarif: cannot be written: No space left on device" in result.output


def test_a_file_for_sarif_that_cannot_be_written_is_wrong_usage(sopbench_audit: Audit) -> None:
    result = sopbench_audit("--sarif", "nowhere/audit.sarif", "./parcels")

    assert 2 == result.exit_code
