"""What has to be alike wherever runs are made, and the error if it is not.

xdist compares the ids that workers collected and nothing else, so a machine whose data file
expects other answers would be counted like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_sopbench._core.model.task import RunKey, of_parameter
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.marks import item_name, may_be_row, split_label

ADDRESSES = ("ssh", "vagrant_ssh", "socket", "via")
"""What tells the machine in a value of `--tx`; its `env:` parts may be secret."""

SHOWN = "sop_shown"
"""Under which a worker on another machine is told how it is called in messages."""

ROUNDS = 2
"""How often all workers may die at their start, before nobody believes that one will come up."""


def check_same_inputs(
    sop: SopSession, contents: Mapping[str, Mapping[str, str]], node: Any
) -> None:
    """Compare what a worker read, or this process if `node` is `None`, with what lies here.

    Raises:
        pytest.UsageError: it would judge by something else; with the worker and what differs.
    """
    for name, theirs in contents.items():
        ours = sop.find_active(name).contents
        differing = [part for part in {**ours, **theirs} if ours.get(part) != theirs.get(part)]
        if differing:
            msg = (
                f"{worker_shown(node)}: domain {name} is not the one"
                f" that lies here; its {', '.join(differing)} differ\n"
                "every machine needs the same domain folders and the same pytest-sopbench"
            )
            raise pytest.UsageError(msg)


def has_workers(config: pytest.Config) -> bool:
    """Tell whether workers of xdist run the tests; nothing is distributed to nobody."""
    return config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None))


def check_distribution(config: pytest.Config) -> None:
    """Stop if machines are named and none of them would be used.

    Raises:
        pytest.UsageError: xdist does not distribute, or `-n` puts its own workers in their place.
    """
    words = {str(word).partition("=")[0] for word in config.invocation_params.args}
    typed = not words.isdisjoint({"--tx", "--px"})
    workers: int | None = config.getoption("numprocesses", None)
    # `-n0` is how one says that this time nothing is to be distributed; workers never distribute.
    if workers == 0 or hasattr(config, "workerinput"):
        return
    if workers and typed:
        msg = "--tx: -n starts its workers on this machine, instead of those of --tx\nleave -n out"
        raise pytest.UsageError(msg)
    named = typed or config.getoption("tx", None)
    if named and config.getoption("dist", "no") == "no":
        msg = "--tx: without -d nothing is distributed, and every run is made here\nadd -d"
        raise pytest.UsageError(msg)


def check_worker_started(node: Any, error: object) -> None:
    """Say what was raised in a worker that ended before it had collected anything.

    Raises:
        pytest.UsageError: something was; a worker that was killed or lost is none of our business.
    """
    raised = str(error or "").rstrip()
    if not raised.startswith("Traceback"):
        return
    lines = raised.splitlines()
    last_frame = max(place for place, line in enumerate(lines) if line.startswith("  "))
    reason = "\n".join(lines[last_frame + 1 :])
    msg = f"{worker_shown(node)} did not come up\n{reason}"
    raise pytest.UsageError(msg)


def check_any_came_up(lost: int, *, of: int) -> None:
    """Stop if all workers, and those that took over from them, died before they had collected.

    Raises:
        pytest.UsageError: they did; xdist would start another one for each task.
    """
    if lost >= ROUNDS * of:
        msg = (
            f"no worker came up: {lost} died before they had collected anything\n"
            "something ends their process at its start; without -n it is seen where"
        )
        raise pytest.UsageError(msg)


def worker_shown(node: Any) -> str:
    """Say which worker of xdist it is, and where it runs."""
    if node is None:
        return "this process"
    spec = node.gateway.spec
    found = (f"{word}={getattr(spec, word)}" for word in ADDRESSES if getattr(spec, word, None))
    where = next(found, "local")
    folder = f" in {spec.chdir}" if spec.chdir else ""
    return f"worker {node.gateway.id} ({where}{folder})"


# Which runs the built-in items of a session ask for, if only their ids are known.


def learn_ids(sop: SopSession, ids: Sequence[str]) -> None:
    """Enter into the plan what workers of xdist collected; ids are computed, never parsed."""
    plan = sop.plan
    if plan.builtin.keys or not (sop.has_domains and any(map(may_be_row, ids))):
        return
    known = _known(sop)
    found = {nodeid: known[nodeid] for nodeid in ids if nodeid in known}
    of_fixture = _of_fixture(known, ids)
    if not (found or of_fixture):
        return
    plan.builtin.keys.update({**found, **of_fixture})
    agents: dict[str, dict[str, None]] = {}
    for key in of_fixture.values():
        agents.setdefault(key.domain, {})[key.agent] = None
    for key in known.values():
        for agent in agents.get(key.domain, {key.agent: None}):
            plan.builtin.selected[key._replace(agent=agent)] = None


def _known(sop: SopSession) -> Mapping[str, RunKey]:
    """Return the runs that the options select by the ids of their items."""
    return {
        f"{active.nodeid}::{item_name(ref.key, sop.label_of(ref.key.agent))}": ref.key
        for active in sop.domains
        for ref in active.refs(sop.agents, sop.options.trials)
        if ref.selected
    }


def _of_fixture(known: Mapping[str, RunKey], ids: Sequence[str]) -> Mapping[str, RunKey]:
    """Return the runs by agents of a fixture, which only a process knows that collects."""
    found: dict[str, RunKey] = {}
    for nodeid in ids:
        plain, label = split_label(nodeid)
        if label is not None and nodeid not in known and plain in known:
            found[nodeid] = known[plain]._replace(agent=of_parameter(label))
    return found
