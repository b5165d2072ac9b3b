"""What took selected tasks away: a gate is asked of all of them, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_sopbench._loading.finding import find_domains

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
    count, of = sop.plan.taken_away, len(sop.plan.selected)
    if not of and sop.options.shard is not None and sop.has_domains and is_narrowed(sop.config):
        # Where all of them go, the controller of xdist is told of none.
        count = of = sum(len(active.positions) for active in sop.domains) * sop.options.trials
    if not count:
        return ""
    reasons = [name for name, given in _SELECTORS.items() if _option(sop.config, given)]
    blame = ", ".join(reasons) or "node ids or another plugin"
    several = sop.options.trials > 1 or any(key.trial > 1 for key in sop.plan.selected)
    return f"{blame} took {count} of {of} selected {'runs' if several else 'tasks'} away"


def is_narrowed(config: pytest.Config) -> bool:
    """Tell whether options of pytest, or ids, may take items away."""
    given = any(_option(config, name) for name in _SELECTORS.values())
    return given or any("::" in argument for argument in config.args)


def named_tasks(sop: SopSession) -> Sequence[str]:
    """Return, as an option, each task that was selected by its name and not with its domain."""
    values = [value for value in sop.options.domains if "::" in value]
    if not values:
        return ()
    found = find_domains(sop.options.domains, sop.where)
    whole = {one.name for one in found if one.task is None}
    named = [one for one in found if one.name not in whole]
    return sorted(f"--sop-domain={one.name}::{one.task}" for one in named)


def _option(config: pytest.Config, name: str) -> bool:
    return bool(config.getoption(name, None))
