"""The comparers of a domain in use: named by the domain, registered by packages and conftests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import cast

import pluggy
import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Compare, OutputField
from pytest_sopbench._hooks.session.import_limit import import_limit
from pytest_sopbench._hooks.session.judging import judging_of
from pytest_sopbench._hooks.settings.options import Options
from pytest_sopbench._running.comparing.compare import SOURCES, Comparers, find_comparers
from pytest_sopbench._running.comparing.comparer import Comparer
from pytest_sopbench._running.comparing.functions import Place
from pytest_sopbench.errors import ComparerError


def comparers_of(
    config: pytest.Config, options: Options, domain: Domain, *, trusted: bool
) -> Comparers:
    """Find what compares the fields of a domain that others compare.

    Raises:
        ComparerError: one cannot be found or used.
        JudgeError: a field has a judge, and none is set or can be used.
    """

    def judged(output: OutputField, place: Place) -> Comparer:
        # Asked only where a field has a judge, whose room no other session loads.
        return judging_of(config, options).comparer(output, place)

    _load_what_judges(domain)
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
        sources={**SOURCES, Compare.JUDGE: judged},
    )
    if not any(one.compare is Compare.CALL for one in domain.fields):
        return find()
    with import_limit(config, options, f"the comparers of domain {domain.name}"):
        return find()


def _load_what_judges(domain: Domain) -> None:
    """Load what runs of a domain are held against before the first of them: it may break imports.

    What a contract needs is loaded with its rules.
    """
    documents = "pytest_sopbench._core.documents"
    needed = {
        "pytest_sopbench._core.trajectory.match": bool(domain.expected_calls),
        "pytest_sopbench._core.judging.documents": domain.document is not None,
        "pytest_sopbench._core.records.document": domain.document is not None,
        f"{documents}.comparing": any(one.compare is Compare.JSON for one in domain.fields),
        f"{documents}.wording.symptoms": any(one.compare is Compare.JSON for one in domain.fields),
    }
    for name in (name for name, is_needed in needed.items() if is_needed):
        import_module(name)


def _registered(config: pytest.Config) -> Mapping[str, object]:
    """Return the comparers that conftests and plugins register, each under its own name."""
    hook: pluggy.HookCaller = config.hook.pytest_sop_comparers
    found: dict[str, object] = {}
    for some in hook():
        if not isinstance(some, Mapping):
            msg = f"pytest_sop_comparers: comparers by name expected, got {type(some).__name__}"
            raise ComparerError(msg, hint='return {"name": function} from the hook')
        for name, function in cast("Mapping[str, object]", some).items():
            if name in found and found[name] is not function:
                msg = f"pytest_sop_comparers: two comparers are called {name!r}"
                raise ComparerError(msg, hint="rename one of them")
            found[name] = function
    return found
