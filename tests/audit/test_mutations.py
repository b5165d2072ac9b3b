"""A few of the mutations that the campaign tries: `make campaign` has 300 of them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from campaign.mutations import HARMLESS, MUTATIONS, copy_of, drawn, found_in, rewritten

from tests.builders.domains import BUNDLED, Severity, audit, domains_in

SEED = 1


@pytest.mark.parametrize("folder", domains_in(BUNDLED), ids=lambda folder: folder.name)
def test_a_bundled_domain_has_no_error_and_no_warning(folder: Path) -> None:
    found = audit(folder).findings

    assert [] == [(one.rule, one.what) for one in found if one.severity is not Severity.NOTE]


@pytest.mark.parametrize("kind", MUTATIONS)
def test_a_mutation_of_each_kind_is_named(kind: str, tmp_path: Path) -> None:
    _, domain, change, lot = next(one for one in drawn(SEED, 6) if f" {kind} of" in one[0])

    what, found = found_in(domain, change, lot, tmp_path)

    assert found, what


def test_rewritings_change_nothing_even_all_together(tmp_path: Path) -> None:
    copy = copy_of("dangerous_goods", tmp_path)

    for change in HARMLESS:
        change(copy, Random(SEED))  # noqa: S311 - to be repeated

    assert () == audit(copy.folder).findings


def test_seeds_repeat_what_they_draw() -> None:
    names = [[one[0] for one in rewritten(SEED, 20)] for _ in range(2)]

    assert names[0] == names[1]
