"""What took selected tasks away: a gate is asked of all of them, or not at all.

What is selected, the domains tell, in the process that keeps the books, whatever was collected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.session.domains.active_domain import ActiveDomain
from pytest_sopbench._loading.finding.resolve import find_domains
from pytest_sopbench._reports.text.numbers import counted

from .session import SopSession

_SELECTORS = {
    "-k": "keyword",
    "-m": "markexpr",
    "--lf": "lf",
    "--sw": "stepwise",
    "--deselect": "deselect",
}
_SHOWN = 3


def deselection_reason(sop: SopSession) -> str:
    """Say what took selected tasks away, or nothing where all of them were asked for."""
    missing = missing_runs(sop)
    if missing:
        return f"no test asked for {_missing_text(sop, missing)}"
    unused = unused_agents(sop)
    if unused:
        return f"no test asked for a run of the typed agent {', '.join(unused)}"
    count, of = sop.plan.taken_away, len(sop.plan.selected)
    if not of and is_narrowed(sop.config):
        # Where all of them go, the controller of xdist may be told of none.
        count = of = len(list(expected_runs(sop)))
    if not count:
        return ""
    reasons = [name for name, given in _SELECTORS.items() if _option(sop.config, given)]
    blame = ", ".join(reasons) or "node ids or another plugin"
    return f"{blame} took {count} of {of} selected {_noun(sop)} away"


def lacks_runs(sop: SopSession) -> bool:
    """Tell whether something was asked for that no test made, which fails the session."""
    return bool(missing_runs(sop) or unused_agents(sop))


def unused_agents(sop: SopSession) -> Sequence[str]:
    """Return the agents that were typed with the command, and that no test has had run.

    Marks of the tests may name other agents, and a fixture of the project may stand for them: what
    came of those says nothing of the agent that somebody wanted to know about.
    """
    plan = sop.plan
    if not (sop.options.types_agents and sop.makes_runs):
        return ()
    every: Sequence[Collection[RunKey]] = (plan.selected, plan.planned, plan.deselected, plan.made)
    asked = {key.agent for part in every for key in part} | {*sop.given}
    if sop.options.shard is not None:
        # The hash may leave a shard without a task of theirs.
        asked |= {*plan.agents}
    is_over = any(outcome is not Outcome.NOT_RUN for outcome in plan.made.values())
    if plan.fixture and is_over and not sop.has_agents:
        # Runs are filed under the agent, whoever makes them.
        asked = {*sop.given}
    return [str(one) for one in sop.options.agents if not {one.name, one.spec} & asked]


def missing_runs(sop: SopSession) -> Mapping[RunKey, None]:
    """Return the selected runs that neither an item nor a deselection accounts for.

    A worker may have died before it collected anything, a conftest may have emptied the list of
    items, tests may be of other domains than the options name: such a run was not asked for by
    anyone, and counts as `not_run`.
    """
    plan = sop.plan
    if plan.missing is not None:
        return plan.missing
    if not sop.makes_runs or is_narrowed(sop.config):
        return {}
    planned, selected, gone = plan.planned, plan.selected, plan.deselected
    found = [key for key in selected if not (key in planned or key in gone or key in plan.made)]
    # With a mark a test may ask for another agent, or for another number of trials.
    known = {
        (key.domain, key.task) for every in (selected, planned, gone, plan.made) for key in every
    }
    found += [key for key in expected_runs(sop) if (key.domain, key.task) not in known]
    return dict.fromkeys(found)


def whole_plan(sop: SopSession) -> dict[RunKey, None]:
    """Return the denominator: what items ask for, and what is missing."""
    return {**sop.plan.planned, **missing_runs(sop)}


def in_order_of_plan(sop: SopSession, records: Iterable[RunRecord]) -> Sequence[RunRecord]:
    """Sort runs as the saved session has them."""
    places = {key: place for place, key in enumerate(whole_plan(sop))}
    return sorted(records, key=lambda one: places.get(one.key, len(places)))


def expected_runs(sop: SopSession) -> Iterator[RunKey]:
    """Yield the runs that the options select by themselves, whatever is collected."""
    for active in _demanded(sop):
        ids = active.domain.task_ids
        for trial in range(1, sop.options.trials + 1):
            for place in active.positions:
                for agent in sop.agents:
                    yield RunKey(active.domain.name, ids[place], trial, agent)


def _demanded(sop: SopSession) -> Sequence[ActiveDomain]:
    """Return the domains whose selected tasks must all be accounted for.

    What only the configuration names says which tasks tests may use, and demands none. Where tests
    were given that ask for no run at all, such as for a toolbox alone, nothing is demanded either.
    """
    options, plan = sop.options, sop.plan
    if options.shard is not None:
        # Other shards rely on it that this one makes its part, whoever has named the domain.
        configured = sop.domains if sop.has_domains else ()
        marked = (sop.find_active(name) for name in plan.specs)
        return [*dict.fromkeys((*configured, *marked))]
    is_builtin = bool(options.named) or (
        sop.config.args_source is not pytest.Config.ArgsSource.ARGS
    )
    asked: Sequence[Collection[RunKey]] = (plan.selected, plan.planned, plan.deselected, plan.made)
    if options.typed_domains and (is_builtin or any(asked)):
        return sop.domains
    return sop.find(options.named) if options.named else ()


class SilencedTests(NamedTuple):
    """Tests of tasks, by their ids: not one report came of them; they passed and their runs not."""

    unreported: Sequence[str]
    unearned: Sequence[str]


def silenced_tests(
    sop: SopSession, reported: Mapping[str, bool], breaking: Iterable[RunRecord]
) -> SilencedTests:
    """Find what a plugin or a conftest kept from running, or let pass, in the place of pytest.

    Whoever does so answers for the project's own tests. That a task was run, and was right, only
    its run can tell.

    Args:
        sop: the session, of which pytest has run all tests that it meant to.
        reported: the ids of tests, each with whether it ever did anything but pass.
        breaking: the runs that broke a rule which fails their tests.
    """
    plan, broken = sop.plan, {one.key for one in breaking}
    builtin = plan.builtin.keys
    tests = {**builtin, **plan.tests.keys}
    return SilencedTests(
        [
            nodeid
            for nodeid, key in tests.items()
            # A budget passes over tests whose runs it does not let begin, and counts them itself.
            if nodeid not in reported and (key in plan.made or not sop.options.budget)
        ],
        [
            nodeid
            for nodeid, key in builtin.items()
            if reported.get(nodeid) is False
            and (plan.made.get(key) is not Outcome.CORRECT or key in broken)
        ],
    )


def silenced_lines(sop: SopSession, found: SilencedTests) -> Iterator[str]:
    """Say which tests of tasks count as failed, since they were not run or passed unearned."""
    for ids, why in (
        (found.unreported, "never ran to a report"),
        (found.unearned, "passed although their runs are not correct"),
    ):
        keys = filter(None, map(sop.plan.key, ids))
        names = [*dict.fromkeys(f"{key.domain}/{key.task}" for key in keys)]
        if names:
            count = counted(len(ids), "test of a task", "tests of tasks")
            yield f"{count} {why}, which fails the session: {_some(names)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _missing_text(sop: SopSession, missing: Mapping[RunKey, None]) -> str:
    """Count what is missing, and name whole domains by their name."""
    every = {**sop.plan.selected, **dict.fromkeys(expected_runs(sop)), **missing}
    names: list[str] = []
    for domain in dict.fromkeys(key.domain for key in missing):
        tasks = dict.fromkeys(key.task for key in missing if key.domain == domain)
        of = {key.task for key in every if key.domain == domain}
        names += [f"all of {domain}"] if len(tasks) == len(of) else [f"{domain}/{t}" for t in tasks]
    return f"{len(missing)} of {len(every)} selected {_noun(sop)}: {_some(names)}"


def _noun(sop: SopSession) -> str:
    several = sop.options.trials > 1 or any(key.trial > 1 for key in sop.plan.selected)
    return "runs" if several else "tasks"


def is_narrowed(config: pytest.Config) -> bool:
    """Tell whether options of pytest, or ids, may take items away."""
    given = any(_option(config, name) for name in _SELECTORS.values())
    return given or any("::" in argument for argument in config.args)


def is_due(sop: SopSession) -> bool:
    """Tell whether a run is surely made, before anything is collected.

    That is so where no test but the built-in one is asked for, and nothing takes tests away.
    """
    paths = sop.config.args_source is pytest.Config.ArgsSource.ARGS
    return sop.makes_runs and not paths and not is_narrowed(sop.config)


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
