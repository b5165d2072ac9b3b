"""The comparers of a domain in use: named by the domain, registered by packages and conftests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pluggy
import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Compare
from pytest_sopbench._hooks.settings.options import Options
from pytest_sopbench._running.comparing.compare import SOURCES, Comparers, find_comparers
from pytest_sopbench._running.comparing.functions import Place
from pytest_sopbench.errors import ComparerError

from .import_limit import import_limit
from .judging import judging_of


def comparers_of(
    config: pytest.Config, options: Options, domain: Domain, *, trusted: bool
) -> Comparers:
    """Find what compares the fields of a domain that others compare.

    Raises:
        ComparerError: one cannot be found or used.
        JudgeError: a field has a judge, and none is set or can be used.
    """
    place = Place(
        domain=domain.name,
        folder=domain.folder,
        trusted=trusted,
        path=config.rootpath,
        registered=_registered(config),
    )
    find = partial(
        find_comparers,
        domain.fields,
        options.scoring,
        place,
        seconds=options.comparer_timeout,
        sources={**SOURCES, Compare.JUDGE: judging_of(config, options).comparer},
    )
    if not any(one.compare is Compare.CALL for one in domain.fields):
        return find()
    with import_limit(config, options, f"the comparers of domain {domain.name}"):
        return find()


def _registered(config: pytest.Config) -> Mapping[str, object]:
    """Return the comparers that conftests and plugins register, each under its own name."""
    hook: pluggy.HookCaller = config.hook.pytest_sop_comparers
    found: dict[str, object] = {}
    for some in hook():
        for name, function in some.items():
            if name in found and found[name] is not function:
                msg = f"pytest_sop_comparers: two comparers are called {name!r}"
                raise ComparerError(msg, hint="rename one of them")
            found[name] = function
    return found
