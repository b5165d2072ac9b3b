"""Forty broken folders of the campaign: each is an error of the audit, and none a traceback."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path

import pytest
from campaign.folders import calls, contracts, files, keys, rows, shapes, specs
from campaign.folders.breakage import Breakage
from campaign.parts.audits import is_audited

ROOMS = (files, shapes, keys, rows, specs, contracts, calls)
SEVEN = 7


def some() -> list[Breakage]:
    refused = (
        [one for one in room.BREAKAGES if one.verdict == "refused" and not one.unprivileged]
        for room in ROOMS
    )
    return list(chain.from_iterable(islice(room, SEVEN) for room in refused))


@pytest.mark.parametrize("breakage", some(), ids=lambda one: one.name)
def test_a_broken_folder_is_an_error_of_the_audit(breakage: Breakage, tmp_path: Path) -> None:
    assert None is is_audited(breakage, 1, tmp_path)


def test_there_are_forty_of_them() -> None:
    assert 40 <= len(some())
