"""What a session is to run: the denominator, known before the first run and never smaller.

A run is planned once, whoever asks for it: an agent, a domain, a task and a trial are one key.

Every process computes the plan of the built-in tests by itself. What a user's tests ask for, only
the process that collects them can know; a worker of xdist sends it with its first report, since
a task is never read back from a node id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.verdict import Outcome

# Taken at import: an agent may put another function into its place.
_dumps, _loads = json.dumps, json.loads


@dataclass(slots=True)
class Part:
    """The plan of one kind of tests.

    `keys` gives the run of each item that is left after deselection, `selected` the runs that
    the `--sop-*` options select.
    """

    keys: dict[str, RunKey] = field(default_factory=dict[str, RunKey])
    selected: dict[RunKey, None] = field(default_factory=dict[RunKey, None])


@dataclass(slots=True)
class Plan:
    """The runs of a session, of built-in tests and of the user's.

    `specs` tells for each domain the value of `--sop-domain` that finds it again, `contents` by
    hashes what this process read of it. `fixture` is the project's fixture that stands for
    `sop_agent`, or empty. `deselected` are selected runs whose items some plugin deselected, and
    said so. `agents` are those of which some collected test asks for a run, whether it is selected
    or not. `has_tasks` tells whether an item of any task was collected. `made` tells how the runs
    ended that were entered; `missing` is what `missing_runs` found when the session ended, `None`
    before.
    """

    builtin: Part = field(default_factory=Part)
    tests: Part = field(default_factory=Part)
    specs: dict[str, str] = field(default_factory=dict[str, str])
    contents: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    fixture: str = ""
    deselected: dict[RunKey, None] = field(default_factory=dict[RunKey, None])
    agents: dict[str, None] = field(default_factory=dict[str, None])
    has_tasks: bool = False
    made: Mapping[RunKey, Outcome] = field(default_factory=dict[RunKey, Outcome], compare=False)
    missing: dict[RunKey, None] | None = field(default=None, compare=False)

    @property
    def planned(self) -> dict[RunKey, None]:
        """The runs that some item asks for, each once, in the order of collection."""
        keys = [*self.builtin.keys.values(), *self.tests.keys.values()]
        return dict.fromkeys(keys)

    @property
    def selected(self) -> dict[RunKey, None]:
        """The runs that the options select, whether an item asks for them or not."""
        return {**self.builtin.selected, **self.tests.selected}

    @property
    def taken_away(self) -> int:
        """How many selected runs no item asks for."""
        planned = self.planned
        return sum(key not in planned for key in self.selected)

    def key(self, nodeid: str) -> RunKey | None:
        """Return the run that an item asks for."""
        return self.builtin.keys.get(nodeid) or self.tests.keys.get(nodeid)

    def to_json(self) -> str:
        """The part of the user's tests as one ASCII text, for `add_json` of another process."""
        part = self.tests
        every = {**part.selected, **self._keys(), **self.deselected}
        places = {key: place for place, key in enumerate(every)}
        return _dumps(
            {
                "runs": list(places),
                "keys": {nodeid: places[key] for nodeid, key in part.keys.items()},
                "selected": [places[key] for key in part.selected],
                "deselected": [places[key] for key in self.deselected],
                "agents": list(self.agents),
                "has_tasks": self.has_tasks,
                "specs": self.specs,
                "contents": self.contents,
                "fixture": self.fixture,
            }
        )

    def add_json(self, text: str) -> dict[str, dict[str, str]]:
        """Take over what a worker sent, and return its `contents`; every worker sends the same."""
        data: dict[str, Any] = _loads(text)
        runs: list[RunKey] = [RunKey(*run) for run in data["runs"]]
        keys: dict[str, int] = data["keys"]
        selected: list[int] = data["selected"]
        deselected: list[int] = data["deselected"]
        self.tests.keys.update({nodeid: runs[place] for nodeid, place in keys.items()})
        self.tests.selected.update(dict.fromkeys(runs[place] for place in selected))
        self.deselected.update(dict.fromkeys(runs[place] for place in deselected))
        self.agents.update(dict.fromkeys(data["agents"]))
        self.has_tasks |= data["has_tasks"]
        self.specs.update(data["specs"])
        self.fixture = data["fixture"]
        contents: dict[str, dict[str, str]] = data["contents"]
        return contents

    def _keys(self) -> dict[RunKey, None]:
        return dict.fromkeys(self.tests.keys.values())
