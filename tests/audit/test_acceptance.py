"""Findings that the metadata accept, with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._loading.load import load_domain


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
