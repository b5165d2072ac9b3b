"""The one line that makes exactly this run again."""

from __future__ import annotations

from pytest_sopbench._core.model.agent_labels import parameter_of
from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._hooks.session.domains.active_domain import TaskRef
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.node_ids import item_name
from pytest_sopbench._reports.text.shell import shell_word


def rerun_line(sop: SopSession, ref: TaskRef, test: str = "") -> str:
    """Write a command that a shell takes as it is.

    Args:
        sop: the session.
        ref: the run.
        test: the node id of the user's test that asked for it; empty for the built-in test.
    """
    words = ["pytest"]
    options, trial = sop.options, ref.key.trial
    if test:
        words.append(test)
        words += [f"--sop-domain={value}" for value in options.domains if options.typed_domains]
    elif trial > 1 or parameter_of(ref.key.agent) or not ref.key.task.isprintable():
        # `--sop-domain` names tasks, and a task has all of its trials and agents. Where its id
        # cannot be seen, its item is called by what can.
        words.append(f"{_place(sop, ref)}::{item_name(ref.key, parameter_of(ref.key.agent))}")
    else:
        words.append(f"--sop-domain={ref.domain.spec}::{ref.key.task}")
    if options.trials > 1:
        words.append(f"--sop-trials={trial}")
    # Of the built-in test, the one agent of the run; the id of a test of the user's may have all.
    mine = [one for one in options.agents if one.name == ref.key.agent]
    words += [f"--sop-agent={one}" for one in (mine if mine and not test else options.agents)]
    words += [f"--sop-agent-arg={name}={value}" for name, value in options.agent_args]
    return " ".join(map(shell_word, words))


def show_line(sop: SopSession, key: RunKey) -> str:
    """Write the command that shows all that is known of a run, once the session has ended."""
    several = len(sop.actives) > 1
    task = f"{key.domain}/{key.task}" if several else key.task
    return f"sopbench show last {shell_word(task)}"


def _place(sop: SopSession, ref: TaskRef) -> str:
    """Return what stands before `::` in an id that pytest finds from the current directory."""
    active = ref.domain
    if active.spec == active.domain.name:
        return f"sop:{active.domain.name}"
    return sop.shown(active.domain.data_file)
