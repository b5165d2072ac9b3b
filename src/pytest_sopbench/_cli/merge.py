"""`sopbench merge`: the shards of a session become the whole."""

from __future__ import annotations

import click

from pytest_sopbench._cli.app import path_of, saved_session, say
from pytest_sopbench._cli.found_domains import domain_option, readable_domains
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.commands.merge import merge_shards
from pytest_sopbench._sessions.file.writer import store_session


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
