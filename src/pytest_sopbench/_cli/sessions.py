"""`sopbench merge` and `sopbench approve`: what is written of saved sessions.

The shards of a session become the whole. What a session has seen becomes snapshots, or a slim
baseline, which later sessions are held against.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from pytest_sopbench._cli.app import FAILS, path_of, project, refuse, saved_session, say, say_lines
from pytest_sopbench._cli.found_domains import domain_option, domains_of, readable_domains
from pytest_sopbench._core.trajectory.snapshot import read_rules
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.notices import approval_lines, unplaced_lines
from pytest_sopbench._sessions.commands.merge import merge_shards
from pytest_sopbench._sessions.folder import file_path
from pytest_sopbench._sessions.reader import write_baseline
from pytest_sopbench._sessions.saved import SavedSession, planned_records
from pytest_sopbench._sessions.snapshots import Approver, Reason, SnapshotFolder
from pytest_sopbench._sessions.writer import store_session
from pytest_sopbench._settings.table import SNAPSHOTS
from pytest_sopbench.errors import SopbenchError


@click.command()
@click.argument("shards", nargs=-1, required=True, metavar="SHARD...")
@click.option("--out", required=True, metavar="NAME|PATH", help="Where the whole is written.")
@domain_option
def merge(shards: tuple[str, ...], out: str, places: tuple[str, ...]) -> None:
    """Put the shards of one session together.

    Each SHARD is a session that was run with --sop-shard, by name or path. All of them must be
    there, each once and each whole; overlaps, gaps, and shards that differ in agent, commit,
    content or judging are errors (status 2). Event logs are merged as well.
    """
    path = path_of(out)
    saved = [saved_session(one) for one in shards]
    names = {name for one in saved for name in one.header.domains}
    order = {name: domain.task_ids for name, domain in readable_domains(names, places).items()}
    whole = merge_shards(saved, order=order)
    logs = [one.path for one in saved]
    store_session(path, whole.header, whole.records, whole.summaries, logs=logs)
    correct = sum(one.outcome is Outcome.CORRECT for one in whole.records)
    say(f"{path}: {len(saved)} shards, {len(whole.records)} runs, {correct} correct")


# What a session has seen becomes snapshots, or a slim baseline.


@click.command()
@click.argument("session")
@click.argument("tasks", nargs=-1, metavar="[TASK...]")
@click.option("--reason", required=True, help="Why; kept with what is approved.")
@click.option(
    "--baseline", metavar="FILE", help="Write a slim baseline for compare, and no snapshots."
)
@click.option("--to", "to", metavar="FOLDER", help="Where snapshots are, if not as configured.")
@click.option("--add", is_flag=True, help="Let what was approved before stay approved as well.")
@domain_option
def approve(  # noqa: PLR0913, PLR0917 - each is an option that a user may give
    session: str,
    tasks: tuple[str, ...],
    reason: str,
    baseline: str | None,
    to: str | None,
    add: bool,
    places: tuple[str, ...],
) -> None:
    """Approve a saved session: snapshots, or a baseline.

    What the session has seen is written as snapshots; no agent is run. SESSION and TASK are
    named as for show; without TASK it is every task of the session. Only runs that are correct
    and keep their contract are approved. The status is 1 if a task that was named is not
    approved, or if none is.

    With --baseline the outcomes of the whole session become what later ones are compared with;
    the file holds tasks, outcomes and names of calls, and nothing else of the runs.
    """
    if not reason.strip():
        msg = "say why: whoever reads the next diff has nothing else"
        raise click.BadParameter(msg, param_hint="--reason")
    saved = saved_session(session)
    if baseline is None:
        today = datetime.now(UTC).date().isoformat()
        why = Reason(text=reason.strip(), date=today, session=session)
        _approve_snapshots(saved, why, tasks, (to, places), add=add)
    elif tasks or to or add or places:
        refuse("--baseline takes the whole session, and no TASK, --to, --add or --domain")
    else:
        path = file_path(baseline)
        replaced = ", which was replaced" if path.exists() else ""
        count = write_baseline(path, saved, reason=reason.strip())
        # Of a task that is wrong in a baseline, no later session can lose anything.
        wrong = sum(one.outcome is not Outcome.CORRECT for one in planned_records(saved))
        say(f"{count} runs kept in {path}{replaced}{f', {wrong} not correct' if wrong else ''}")


def _approve_snapshots(
    saved: SavedSession,
    reason: Reason,
    tasks: Sequence[str],
    where: tuple[str | None, Sequence[str]],
    *,
    add: bool,
) -> None:
    if saved.slim:
        refuse(f"{saved.path}: a slim baseline holds no arguments, so no snapshot can be made")
    to, places = where
    records = [one for task in tasks for one in saved.runs_of(task)] if tasks else saved.records
    known = project()
    folder = Path(to) if to else known.below("sop_committed_dir", SNAPSHOTS)
    approver = _approver(folder, {one.domain for one in records}, places, add=add)
    done = approver.approve(records, saved.header, reason)
    say_lines(approval_lines(done.written, done.unchanged, done.refused, folder=str(folder)))
    say_lines(unplaced_lines(approver.leftovers()))
    if done.refused if tasks else not (done.written or done.unchanged):
        sys.exit(FAILS)


def _approver(folder: Path, names: set[str], places: Sequence[str], *, add: bool) -> Approver:
    snapshots = SnapshotFolder(folder)
    try:
        rules = read_rules(project().words("sop_snapshot_rules"))
    except ValueError as fault:
        msg = f"sop_snapshot_rules: {fault}"
        raise SopbenchError(msg) from None
    domains = dict(domains_of({*names, *snapshots.domains()}, places))
    return Approver(snapshots, domains, rules, keep=add)
