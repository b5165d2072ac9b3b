"""Says how far the judge can be relied on, and what it consumed apart from the agents."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from pytest_sopbench._core.gates.judge_report import FIELDS, judged_fields_to_json
from pytest_sopbench._hooks.session.judging import LOG, judged_in, log_name_of
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._sessions.header.options import SessionOptions


def with_judge(sop: SopSession, options: SessionOptions) -> SessionOptions:
    """Add what the saved session says of its judge: what it consumed, and where not to rely."""
    judging = judged_in(sop.config)
    if judging is None or not judging.calibrations:
        return options
    from pytest_sopbench._judge.keeping.consumption import consumption_to_json, read_log  # noqa: PLC0415 - only where a model judges

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
        from pytest_sopbench._judge.calibrating.report import summary_lines  # noqa: PLC0415 - only where a model judges
        from pytest_sopbench._judge.keeping.consumption import read_log  # noqa: PLC0415 - only where a model judges

        consumption = read_log(judging.log, self._sop.prices)
        judges = {
            f"{domain}, {field}": one for (domain, field), one in judging.calibrations.items()
        }
        lines = [*summary_lines(judges, consumption)]
        with suppress(OSError):
            judging.log.unlink(missing_ok=True)
        return lines
