"""`sopbench cassettes`: what is recorded of model traffic, whether it is whole, what is unused."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from pytest_sopbench._cli.app import FAILS, echo_json, project, refuse, say, say_lines
from pytest_sopbench._cli.found_domains import readable_domains
from pytest_sopbench._replay.cassettes import Inspection, Survey, faults_of, inspect, unused
from pytest_sopbench._replay.exchange import IGNORED, MASKED, read_path, show_path
from pytest_sopbench._reports.text import amount, counted
from pytest_sopbench._sessions.folder import followed, last_path
from pytest_sopbench._sessions.header import read_session_options
from pytest_sopbench._settings.readers import read_ignored
from pytest_sopbench._settings.table import CASSETTES


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="For programs: a list of objects.")
@click.pass_context
def cassettes(context: click.Context, *, as_json: bool) -> None:
    """List recordings of model traffic: task, model, day, requests, tokens, size.

    They are made with pytest --sop-replay=record. The status is 1 if one cannot be read.
    """
    if context.invoked_subcommand is not None:
        return
    found = inspect(_folder())
    if as_json:
        problems = [{"problem": problem} for problem in found.problems]
        echo_json([*(_as_json(one) for one in found.surveys), *problems])
    else:
        say_lines(_listed(found))
    if found.problems:
        sys.exit(FAILS)


@cassettes.command()
@click.option("--domain", "places", multiple=True, metavar="PATH", help="A domain by its folder.")
def check(places: Sequence[str]) -> None:
    """Check that every recording is whole, unchanged, without a credential, of a task of today.

    The status is 1 if something is wrong, and 0 if all is well.
    """
    root = _folder()
    found = inspect(root)
    faults = list(faults_of(root, found, _tasks(found, places)))
    say_lines(faults)
    say_lines(_compared_by(found))
    if not found.surveys and not faults:
        say(f"no recordings in {root}")
    elif not faults:
        say(f"{counted(len(found.surveys), 'recording')}: whole, and of tasks of today")
    if faults or not found.surveys:
        sys.exit(FAILS)


@cassettes.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--domain", "places", multiple=True, metavar="PATH", help="A domain by its folder.")
def prune(places: Sequence[str], *, dry_run: bool) -> None:
    """Remove what no task uses: recordings of tasks that are gone, texts that nothing names.

    Recordings of a domain that is not found are left alone.
    """
    root = _folder()
    found = inspect(root)
    paths = list(unused(root, _tasks(found, places)))
    for path in paths:
        say(f"{'would remove' if dry_run else 'removed'} {path}")
        if not dry_run:
            path.unlink(missing_ok=True)
    if not paths:
        say("nothing is unused")


def _compared_by(found: Inspection) -> Iterator[str]:
    """Say what need not agree with recordings, and how many were made by other settings."""
    try:
        read = read_ignored(project().words("sop_replay_ignore"))
        masked = [*read.patterns]
        ignored = [show_path(read_path(one)) for one in read.paths]
    except ValueError as fault:
        refuse(f"sop_replay_ignore: {fault}")
    settings = {IGNORED: ignored, MASKED: masked}
    if masked and found.surveys:
        yield f"sop_replay_ignore: what matches is not compared: {', '.join(masked)}"
    today = {name: entries for name, entries in settings.items() if entries}
    trials = [trial for one in found.surveys for trial in one.trials.values()]
    if others := sum(trial.keyed_by != today for trial in trials):
        yield (
            f"{counted(others, 'recording')} made by other entries of "
            "sop_replay_ignore; they are compared by those of today"
        )


def _folder() -> Path:
    return project().below("sop_committed_dir", CASSETTES)


def _tasks(found: Inspection, places: Sequence[str]) -> Mapping[str, Collection[str]]:
    names = {one.place.domain for one in found.surveys}
    domains = readable_domains(names, places)
    return {name: dict.fromkeys(domain.task_ids) for name, domain in domains.items()}


def _listed(found: Inspection) -> Iterator[str]:
    for one in found.surveys:
        trials = one.trials.values()
        tokens = [trial.tokens for trial in trials if trial.tokens is not None]
        parts = (
            f"{one.place.agent}  {one.place.domain}/{one.place.task}",
            ", ".join(dict.fromkeys(model for trial in trials for model in trial.models)) or "-",
            min(trial.recorded for trial in trials).date().isoformat() if trials else "-",
            counted(sum(trial.requests for trial in trials), "request"),
            f"{amount(sum(tokens)) if tokens else '-'} tokens",
            f"{one.size / 1_000:.1f} kB",
        )
        several = f"  {len(one.trials)} trials" if len(one.trials) > 1 else ""
        yield "  ".join(parts) + several
    yield from found.problems
    size = sum(one.size for one in found.surveys)
    yield f"{counted(len(found.surveys), 'recording')}, {size / 1_000:.1f} kB"
    yield from _missed()


def _missed() -> Iterator[str]:
    """Yield what the last session has missed: if all differ alike, all are to be made anew."""
    try:
        with followed(last_path(project().sessions_dir)).open("rb") as file:
            header: Any = json.loads(file.readline())
        misses: Any = read_session_options(header["options"]).replay_misses
        told = ", ".join(f"{path} {int(count)}" for path, count in misses.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # It only serves for a remark.
        return
    if told:
        yield f"the last session sent what is not recorded, by runs: {told}"
        yield "its summary says what can be left out of the comparison; for the rest, run it again"
        yield "with --sop-replay=record beside its own options"


def _as_json(one: Survey) -> Mapping[str, Any]:
    return {
        "agent": one.place.agent,
        "domain": one.place.domain,
        "task": one.place.task,
        "size": one.size,
        "trials": {
            str(number): {
                "recorded": trial.recorded.isoformat(),
                "requests": trial.requests,
                "models": list(trial.models),
                "tokens": trial.tokens,
                "cost_usd": trial.cost_usd,
            }
            for number, trial in one.trials.items()
        },
    }
