"""Says by which prices costs were reckoned, and which models have none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_sopbench._core.model.usage import listed
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._reports.notices.prices import Priced, price_lines


class PriceBooks:
    """Looks at each run as it is recorded, in the process that prints the summary."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._priced = Priced()

    @pytest.hookimpl
    def pytest_sop_run_finished(self, run: RunRecord) -> None:
        self._priced.watch(run)
        if run.usage.priced_by is not None:
            prices = listed(self._sop.recorded.prices, run.usage.priced_by)
            self._sop.recorded = replace(self._sop.recorded, prices=prices or "")

    @pytest.hookimpl
    def pytest_sop_summary(self) -> list[str]:
        # Without any prices it goes without saying that no cost can be reckoned.
        return [*price_lines(self._priced)] if self._sop.prices is not None else []
