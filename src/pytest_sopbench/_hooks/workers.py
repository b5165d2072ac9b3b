"""What the controller of xdist is asked: how to share the items out."""

from __future__ import annotations

from typing import Any

import pytest

from .session import SopSession


class Workers:
    """The hooks of xdist in its controller."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        """Schedule by task, unless the user chose another distribution than the usual one."""
        if config.getoption("dist") != "load":
            return None
        from .scheduling import TaskScheduling  # noqa: PLC0415 - xdist is an extra

        return TaskScheduling(config, log)


def raise_restart_limit(sop: SopSession) -> None:
    """Let every run cost a worker: xdist's own limit would leave the rest of the tasks unrun."""
    option = sop.config.option
    if getattr(option, "maxworkerrestart", 0) is None:
        option.maxworkerrestart = str(sum(len(active.positions) for active in sop.domains))
