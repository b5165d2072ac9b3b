"""Domains that were drafted with a model, and whose labels nobody has reviewed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._loading.evidence import draft_of

_DRAFTS = pytest.StashKey[dict[str, str]]()


def drafts_of(sop: SopSession) -> Mapping[str, str]:
    """Return what is said of each drafted domain of a session.

    What a domain was when it was first asked for counts to the end: an agent under test may write
    a review as well as any other file.
    """
    known = sop.config.stash.setdefault(_DRAFTS, {})
    for active in sop.actives:
        if active.domain.name not in known:
            known[active.domain.name] = draft_of(active.domain)
    return {name: why for name, why in known.items() if why}


class DraftBooks:
    """Says in every summary of which domains nobody has reviewed the labels."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        # The controller of xdist collects nothing, and its workers run agents meanwhile.
        drafts_of(self._sop)

    @pytest.hookimpl
    def pytest_collection_finish(self) -> None:
        drafts_of(self._sop)

    @pytest.hookimpl
    def pytest_sop_summary(self) -> list[str]:
        return [*draft_lines(drafts_of(self._sop))]


def draft_lines(drafts: Mapping[str, str]) -> Iterator[str]:
    """Say it, once for each domain."""
    for name, told in drafts.items():
        yield f"draft: {told} ({name}), so no gate on it is held"
