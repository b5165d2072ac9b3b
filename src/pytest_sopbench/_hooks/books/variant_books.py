"""What variants of the tasks came to, kept apart from all runs that count."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Final

import pytest

from pytest_sopbench._core.variants import Told, add, findings, joined
from pytest_sopbench._hooks.items.variants import take_told
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._reports.terminal.gate import variant_lines

NONE: Final = "variant: none came to its end; only items of a domain's own rows have variants"


class VariantBooks:
    """Enters the outcome of each variant as its report arrives, and tells what they say."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._told: Told = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = take_told(report)
        if told is not None:
            domain, agent, name, task, outcome = told
            add(self._told, (domain, agent, name, task), outcome)
            self._note(self._told)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Leave them in one order before the books are closed: they arrive in any."""
        if self._told:
            self._note(joined([self._told]))
        return (yield)

    def _note(self, told: Told) -> None:
        self._sop.recorded = replace(self._sop.recorded, variants=told)

    @pytest.hookimpl
    def pytest_sop_summary(self) -> list[str]:
        found = findings(self._told, self._sop.plan.made.items())
        return [*variant_lines([*found])] or [NONE]
