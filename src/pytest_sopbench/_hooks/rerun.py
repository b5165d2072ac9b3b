"""The one line that runs exactly this task again."""

from __future__ import annotations

import shlex

import pytest

from .session import BUILTIN, SopSession, TaskRef


def rerun_line(sop: SopSession, ref: TaskRef, item: pytest.Item) -> str:
    """Write a command that a shell takes as it is."""
    words = ["pytest"]
    options = sop.options
    if item.stash.get(BUILTIN, False):
        words.append(f"--sop-domain={ref.domain.spec}::{ref.key.task}")
    else:
        words.append(item.nodeid)
        words += [f"--sop-domain={value}" for value in options.domains if options.typed_domains]
    if options.agent:
        words.append(f"--sop-agent={options.agent}")
    words += [f"--sop-agent-arg={name}={value}" for name, value in options.agent_args]
    return shlex.join(words)
