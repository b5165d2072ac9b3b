"""What has to be alike wherever runs are made, and the error where it is not.

xdist compares the ids that workers collected and nothing else, so a machine whose data file
expects other answers would be counted like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import pytest

from pytest_sopbench._core.judging.fingerprint import rules_fingerprint

if TYPE_CHECKING:
    from .session import ActiveDomain, SopSession

ADDRESSES = ("ssh", "vagrant_ssh", "socket", "via")
"""What tells the machine in a value of `--tx`; its `env:` parts may be secret."""

SHOWN = "sop_shown"
"""Under which a worker on another machine is told how it is called in messages."""

ROUNDS = 2
"""How often all workers may die at their start, before nobody believes that one will come up."""


@cache
def own_version() -> str:
    """Return the version of this package; its metadata are read once.

    It is empty where the package lies on the path without having been installed.
    """
    try:
        return version("pytest-sopbench")
    except PackageNotFoundError:
        return ""


def contents_of(active: ActiveDomain) -> dict[str, str]:
    """Hash what decides on the verdicts of a domain; equal on machines that judge alike."""
    return {
        **active.domain.hashes,
        "judging": rules_fingerprint({active.domain.name: active.rules}),
        "pytest-sopbench": own_version(),
    }


def check_same_inputs(
    sop: SopSession, contents: Mapping[str, Mapping[str, str]], node: Any
) -> None:
    """Compare what a worker read, or this process where `node` is `None`, with what lies here.

    Raises:
        pytest.UsageError: it would judge by something else; with the worker and what differs.
    """
    for name, theirs in contents.items():
        ours = contents_of(sop.find_active(name))
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
    """Stop where machines are named and none of them would be used.

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
    """Stop where all workers, and those that took over from them, died before they had collected.

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
