"""What models and judges cost, counted as runs end."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from pytest_sopbench._core.gates.decide import FIELDS, judged_fields_to_json
from pytest_sopbench._core.model.usage import listed
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.session.judging import LOG, judged_in, log_name_of
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._reports.notices import Priced, price_lines
from pytest_sopbench._sessions.header import SessionOptions

# Says how far the judge can be relied on, and what it consumed apart from the agents.


def with_judge(sop: SopSession, options: SessionOptions) -> SessionOptions:
    """Add what the saved session says of its judge: what it consumed, and where not to rely."""
    judging = judged_in(sop.config)
    if judging is None or not judging.calibrations:
        return options
    from pytest_sopbench._judge.keeping import consumption_to_json, read_log  # noqa: PLC0415 - only where a model judges

    return replace(
        options,
        judge={
            **consumption_to_json(read_log(judging.log, sop.prices)),
            FIELDS: judged_fields_to_json(judging.judged),
        },
        doubtful=judging.doubtful,
    )


class JudgeBooks:
    """Adds up what all processes of the session asked, where the summary is printed."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[LOG] = log_name_of(self._sop.config)

    @pytest.hookimpl
    def pytest_sop_summary(self) -> list[str]:
        judging = judged_in(self._sop.config)
        if judging is None or not judging.calibrations:
            return []
        from pytest_sopbench._judge.calibrating import summary_lines  # noqa: PLC0415 - only where a model judges
        from pytest_sopbench._judge.keeping import read_log  # noqa: PLC0415 - only where a model judges

        consumption = read_log(judging.log, self._sop.prices)
        judges = {
            f"{domain}, {field}": one for (domain, field), one in judging.calibrations.items()
        }
        lines = [*summary_lines(judges, consumption)]
        with suppress(OSError):
            judging.log.unlink(missing_ok=True)
        return lines


# Says by which prices costs were reckoned, and which models have none.


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
