"""What one process knows of the SOP session: options, domains, agents and the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pytest

from pytest_sopbench._core.domain import Domain, JudgingRules
from pytest_sopbench._core.gates.quarantine import NOTHING_FORGIVEN
from pytest_sopbench._core.model.agent_labels import labels_of, parameter_of
from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.model.prices import Prices
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._hooks.session.domains.active_domain import ActiveDomain, TaskRef
from pytest_sopbench._hooks.session.domains.comparers import comparers_of
from pytest_sopbench._hooks.session.domains.loading import loaded
from pytest_sopbench._hooks.session.domains.selection import choose, select
from pytest_sopbench._hooks.settings.node_ids import domain_id
from pytest_sopbench._hooks.settings.options import Options
from pytest_sopbench._loading.finding.resolve import FoundDomain, Origin, SearchPaths, find_domains
from pytest_sopbench._running.comparing.compare import Comparers
from pytest_sopbench._sessions.header.options import SessionOptions
from pytest_sopbench.errors import SopbenchError

from .plan import Plan
from .prices import prices_of

SESSION = pytest.StashKey["SopSession"]()
REF = pytest.StashKey[TaskRef]()
BUILTIN = pytest.StashKey[bool]()
"""Stands on the items of a domain's data file, and on no item of the user."""

IN_PROJECT = frozenset({Origin.PROJECT, Origin.PATH})
NO_DOMAIN = (
    "no domain: give --sop-domain NAME on the command line, set sop_domain in the configuration, "
    "or mark the test with @pytest.mark.sop(domain=...)"
)


class SopSession:
    """The SOP side of one pytest session, in one process."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        self.config = config
        self.options = options
        self.plan = Plan()
        # What the saved session's header has beside what was asked.
        self.recorded = SessionOptions()
        self.forgiven = NOTHING_FORGIVEN
        # The agents of the options that the plugin's own fixture has given to a test or a fixture.
        self.given: dict[str, None] = {}
        # Tests that failed and are no misses; unknown until the session comes to its end.
        self.failures: int | None = None
        # What code of the project broke in its process, each once.
        self.broken: dict[str, None] = {}
        # The run whose failure has shown a traceback, by the type and the frames.
        self.tracebacks: dict[tuple[str, ...], RunKey] = {}
        self._active: dict[str, ActiveDomain] = {}

    @cached_property
    def where(self) -> SearchPaths:
        return SearchPaths(
            rootdir=self.config.rootpath,
            invocation_dir=self.config.invocation_params.dir,
            sop_paths=self.options.paths,
            trusted=self.options.trusted,
        )

    @cached_property
    def domains(self) -> tuple[ActiveDomain, ...]:
        """The domains that the options or the project's configuration name.

        Raises:
            pytest.UsageError: there is none, or one cannot be used.
        """
        return self.find(self.options.domains)

    @cached_property
    def prices(self) -> Prices | None:
        """By what costs are reckoned that agents do not tell; `None` where nothing is there.

        Raises:
            pytest.UsageError: the file of prices cannot be used, or the library is not there.
        """
        return prices_of(self.options.prices)

    @property
    def has_domains(self) -> bool:
        """Whether the command line or the configuration names a domain."""
        return bool(self.options.domains)

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """What runs of the session's agents are filed under, known before anything is collected."""
        return tuple(one.name for one in self.options.agents) or ("sop_agent",)

    @property
    def has_agents(self) -> bool:
        """Whether the options name several agents, so that each task is run by each of them."""
        return len(self.agents) > 1

    @property
    def agent_label(self) -> str:
        """What the session's agents are called together."""
        return ", ".join(self.agents)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What stands for each agent of the options in the ids of items, if there are several."""
        return labels_of(self.agents) if self.has_agents else {}

    def label_of(self, agent: str) -> str | None:
        """Return what stands for an agent in the id of an item; `None` where nothing does."""
        return self.labels.get(agent, parameter_of(agent))

    def has_at_hand(self, agent: str, current: str) -> bool:
        """Tell whether an agent is known while another one runs; a fixture may have to make it."""
        return agent == current or (self.has_agents and {agent, current} <= {*self.agents})

    def spec_of(self, agent: str) -> str | None:
        """Return the spec of an agent of the options, `None` where they do not name it."""
        for one in self.options.agents:
            if one.name == agent:
                return one.spec
        return None

    @property
    def agent_shown(self) -> str:
        """What the session's agent is called: a fixture of the project's may stand for it."""
        return self.plan.fixture or self.agent_label

    @property
    def agents_run(self) -> str:
        """What the agents are called together by which tests ask for runs; else `agent_shown`."""
        planned = {one.agent: None for one in self.plan.planned}
        # What the hash leaves to a shard says nothing of the whole.
        asked = self.plan.agents if self.options.shard is not None else planned
        if not asked or self.plan.fixture:
            return self.agent_shown
        mine = [one for one in self.agents if one in asked]
        return ", ".join((*mine, *(one for one in asked if one not in mine)))

    @property
    def makes_runs(self) -> bool:
        """Whether items are run, and not only listed, planned or collected."""
        # Asked for each test, and pytest's own way to look an option up takes a while.
        option = self.config.option
        return not (
            getattr(option, "collectonly", False)
            or getattr(option, "setupplan", False)
            or getattr(option, "showfixtures", False)
            or getattr(option, "show_fixtures_per_test", False)
        )

    def find(self, values: Sequence[str]) -> tuple[ActiveDomain, ...]:
        """Load the domains that these values of `--sop-domain` name, each once.

        Raises:
            pytest.UsageError: there is none, or one cannot be used.
        """
        if not values:
            raise pytest.UsageError(NO_DOMAIN)
        try:
            found = find_domains(values, self.where)
            named: dict[str, set[str] | None] = {}
            for one in found:
                _name_tasks(named, one)
            places = {one.name: one for one in found}
            return tuple(self._load(one, named[name]) for name, one in places.items())
        except SopbenchError as error:
            raise pytest.UsageError(str(error)) from None

    @property
    def actives(self) -> tuple[ActiveDomain, ...]:
        """The domains that were loaded so far."""
        return tuple(self._active.values())

    def find_active(self, name: str) -> ActiveDomain:
        """Return a domain in use by its name, loading it where only a worker has done so."""
        if name not in self._active:
            self.find((self.plan.specs.get(name, name),))
        return self._active[name]

    def shown(self, path: Path) -> str:
        """Write a path as the user would type it."""
        here = self.config.invocation_params.dir
        return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

    def _load(self, found: FoundDomain, named: set[str] | None) -> ActiveDomain:
        known = self._active.get(found.name)
        if known is not None and known.domain.folder == found.folder and named is None:
            return known
        domain = loaded(found, self.options.redaction)
        unknown = (named or set()) - set(domain.task_ids)
        if unknown:
            msg = f"domain {found.name}: it has no task {min(unknown)!r}"
            raise SopbenchError(msg, hint=f"sopbench list {found.name} counts its tasks")
        comparers = comparers_of(self.config, self.options, domain, trusted=found.trusted)
        pool = choose(domain, self.options, frozenset(named or ()))
        active = ActiveDomain(
            domain=domain,
            rules=self._rules(domain, comparers),
            spec=self._spec(found),
            nodeid=domain_id(domain, self.config.rootpath, in_project=found.origin in IN_PROJECT),
            trusted=found.trusted,
            comparers=comparers,
            pool=pool,
            positions=select(domain, self.options, pool),
        )
        self._active[found.name] = active
        self.plan.specs[found.name] = active.spec
        self.plan.contents[found.name] = active.contents
        return active

    def _rules(self, domain: Domain, comparers: Comparers) -> JudgingRules:
        if domain.document is not None and self.options.scoring is Scoring.PUBLISHED:
            from pytest_sopbench._core.documents.published import refuse_without_libraries  # noqa: PLC0415 - only where an answer is a document

            refuse_without_libraries(domain.name)
        return JudgingRules(
            fields=domain.fields,
            scoring=self.options.scoring,
            sop=domain.sop,
            contract=None if self.options.contract == "off" else domain.contract,
            expected_calls=domain.expected_calls,
            document=domain.document,
            comparers=comparers.identities,
        )

    def _spec(self, found: FoundDomain) -> str:
        if found.origin is not Origin.PATH:
            return found.name
        path = self.shown(found.folder)
        return path if "/" in path else f"./{path}"


def _name_tasks(named: dict[str, set[str] | None], found: FoundDomain) -> None:
    """Remember which tasks were asked for by name; a domain named alone asks for all."""
    if found.task is None:
        named[found.name] = None
    elif (tasks := named.setdefault(found.name, set())) is not None:
        tasks.add(found.task)
