"""What took selected tasks away: a gate is asked of all of them, or not at all."""

from __future__ import annotations

import pytest

from .session import SopSession

_SELECTORS = {
    "-k": "keyword",
    "-m": "markexpr",
    "--lf": "lf",
    "--sw": "stepwise",
    "--deselect": "deselect",
}


def taken_away(sop: SopSession) -> str:
    """Say what took selected tasks away, or nothing where all of them were asked for."""
    count = sop.plan.taken_away
    if not count:
        return ""
    reasons = [name for name, given in _SELECTORS.items() if _option(sop.config, given)]
    blame = ", ".join(reasons) or "node ids or another plugin"
    selected = sop.plan.selected
    what = "runs" if any(key.trial > 1 for key in selected) else "tasks"
    return f"{blame} took {count} of {len(selected)} selected {what} away"


def _option(config: pytest.Config, name: str) -> bool:
    return bool(config.getoption(name, None))
