"""The one line that makes exactly this run again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from pytest_sopbench._core.model.agent_labels import parameter_of
from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._hooks.session.domains.active_domain import TaskRef
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.node_ids import item_name
from pytest_sopbench._reports.text.shell import shell_word
from pytest_sopbench._settings.spec import SAME
from pytest_sopbench._settings.table import SPECS, TABLE

_VALUES: Final = {
    "-c": "-c",
    "--config-file": "-c",
    "-o": "-o",
    "--override-ini": "-o",
    "-p": "-p",
    "--rootdir": "--rootdir",
    "--confcutdir": "--confcutdir",
    "--import-mode": "--import-mode",
}
"""Options of pytest itself that decide which code runs and by which configuration."""

_FLAGS: Final = frozenset(("--noconftest", "--pyargs"))
_OF_FLAGS: Final = frozenset(("store_true", "store_false", "store_const", "append_const", "count"))


def rerun_line(sop: SopSession, ref: TaskRef, test: str = "") -> str:
    """Write a command that a shell takes as it is, with all that decides the run or its verdict.

    Args:
        sop: the session.
        ref: the run.
        test: the node id of the user's test that asked for it; empty for the built-in test.
    """
    words = ["pytest"]
    options, trial = sop.options, ref.key.trial
    # A trial that is recorded beside others replaces all of them where they are not asked for.
    among = options.replay.mode == "auto" and options.trials > 1
    if test:
        words.append(_typed_id(sop, test))
        words += [f"--sop-domain={value}" for value in options.domains if options.typed_domains]
    elif trial > 1 or among or parameter_of(ref.key.agent) or not ref.key.task.isprintable():
        # `--sop-domain` names tasks, and a task has all of its trials and agents. Where its id
        # cannot be seen, its item is called by what can.
        words.append(f"{_place(sop, ref)}::{item_name(ref.key, parameter_of(ref.key.agent))}")
    else:
        words.append(f"--sop-domain={ref.domain.spec}::{ref.key.task}")
    if options.trials > 1:
        words.append(f"--sop-trials={options.trials if among else trial}")
    # Of the built-in test, the one agent of the run; the id of a test of the user's may have all.
    mine = [one for one in options.agents if one.name == ref.key.agent]
    words += [f"--sop-agent={one}" for one in (mine if mine and not test else options.agents)]
    words += [f"--sop-agent-arg={name}={value}" for name, value in options.agent_args]
    words += _given(sop.config)
    words += _typed([str(word) for word in sop.config.invocation_params.args], sop.config)
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


def _typed_id(sop: SopSession, nodeid: str) -> str:
    """Return a node id as it is typed: pytest writes ids from rootdir, and reads them from here."""
    file, sign, name = nodeid.partition("::")
    path = sop.config.rootpath / file
    return f"{sop.shown(path)}{sign}{name}" if path.exists() else nodeid


def _given(config: pytest.Config) -> Iterator[str]:
    """Yield our options that decide a run, wherever they were given."""
    for spec in TABLE:
        given: str | Sequence[str] | None
        given = config.getoption(spec.name) if spec.is_option and spec.again == SAME else None
        for value in (given,) if isinstance(given, str) else given or ():
            # To make a run again is no reason to replace recordings: it is sent, as it was.
            off = spec.name == "sop_replay" and value == "record"
            yield f"{spec.option}={'off' if off else value}"


def _typed(typed: Sequence[str], config: pytest.Config) -> Iterator[str]:
    """Yield what was typed of pytest's own options, and of those that a conftest.py adds."""
    of_project = _of_conftest(config)
    words = iter(typed)
    for word in words:
        if word == "--":
            return
        name, sign, value = word.partition("=") if word.startswith("--") else _short(word)
        if word in _FLAGS or (name in of_project and (sign or not of_project[name])):
            yield word
        elif name in of_project:
            yield f"{word}={next(words, '')}"
        elif name in _VALUES:
            value = value if sign else next(words, "")
            if _VALUES[name] != "-o" or _decides(value):
                yield from _written(_VALUES[name], value)


def _short(word: str) -> tuple[str, str, str]:
    """Split a word as `-p` and `-pNAME` are split."""
    return word[:2], word[2:] and "=", word[2:]


def _written(name: str, value: str) -> tuple[str, ...]:
    return (f"{name}={value}",) if name.startswith("--") else (name, value)


def _decides(override: str) -> bool:
    """Tell whether an ini value given by `-o` decides a run; one of other plugins may."""
    spec = SPECS.get(override.partition("=")[0].strip())
    return spec is None or spec.again == SAME


def _of_conftest(config: pytest.Config) -> dict[str, bool]:
    """Return the options that belong to no group, as those of a conftest.py do.

    Each by its name, with whether a value follows it. pytest tells this to nobody; where it has
    moved the place, they are left out of the line.
    """
    parser = getattr(config, "_parser", None)
    group = getattr(parser, "_anonymous", None)
    found: dict[str, bool] = {}
    for one in getattr(group, "options", ()):
        given = one.attrs()
        # Before pytest 9 as it was written, and since then as argparse has made it.
        is_flag = given.get("nargs") == 0 or given.get("action", "store") in _OF_FLAGS
        found |= dict.fromkeys(one.names(), not is_flag)
    return found
