"""Which tasks of a domain the options select; the same in every process."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.shards import shard_number
from pytest_sopbench._hooks.settings.options import Options
from pytest_sopbench._settings.values import Sample


def choose(domain: Domain, options: Options, named: frozenset[str]) -> tuple[int, ...]:
    """Return the positions of the tasks that shards share out, in the order of the rows.

    Args:
        domain: where the tasks are.
        options: of the session.
        named: the ids of tasks that were asked for by name; empty chooses all.
    """
    positions: Iterable[int] = range(len(domain.task_ids))
    if named:
        positions = [one for one in positions if domain.task_ids[one] in named]
    if options.tags:
        positions = [one for one in positions if options.tags & {*domain.tasks[one].tags}]
    return tuple(positions)


def select(domain: Domain, options: Options, pool: Sequence[int]) -> tuple[int, ...]:
    """Return the positions of the selected tasks, in the order of the rows.

    The shard takes its part of the pool; a sample is drawn of that, and the limit cuts it.
    """
    positions: Iterable[int] = pool
    shard = options.shard
    if shard is not None:
        ids = domain.task_ids
        positions = [one for one in pool if shard_number(ids[one], shard.count) == shard.number]
    if options.sample is not None:
        positions = _sampled(domain, positions, options.sample)
    return tuple(positions)[: options.limit]


def _sampled(domain: Domain, positions: Iterable[int], sample: Sample) -> list[int]:
    """Draw evenly over expected answers: each answer gives one task in turn."""
    groups: dict[str, list[int]] = defaultdict(list)
    for position in positions:
        expected = domain.tasks[position].expected_as_written
        groups[json.dumps(expected, sort_keys=True)].append(position)
    # Seeded, and over sorted groups, so that every process draws the same tasks.
    chance = random.Random(sample.seed)  # noqa: S311 - a sample needs no cryptography
    queues = [groups[answer] for answer in sorted(groups)]
    for queue in queues:
        chance.shuffle(queue)
    drawn: list[int] = []
    while len(drawn) < sample.size and any(queues):
        for queue in queues:
            if queue and len(drawn) < sample.size:
                drawn.append(queue.pop())
    return sorted(drawn)
