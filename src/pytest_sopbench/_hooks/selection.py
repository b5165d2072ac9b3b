"""Which tasks of a domain the options select; the same in every process."""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable

from pytest_sopbench._core.models import Domain

from .option_values import Sample, Shard
from .options import Options


def select(domain: Domain, options: Options, named: frozenset[str]) -> tuple[int, ...]:
    """Return the positions of the selected tasks, in the order of the rows.

    Tags and the shard choose first; a sample is drawn of what they leave, and the limit cuts it.

    Args:
        domain: where the tasks are.
        options: of the session.
        named: the ids of tasks that were asked for by name; empty selects all.
    """
    positions: Iterable[int] = range(len(domain.task_ids))
    if named:
        positions = [one for one in positions if domain.task_ids[one] in named]
    if options.tags:
        positions = [one for one in positions if options.tags & {*domain.tasks[one].tags}]
    if options.shard is not None:
        positions = [one for one in positions if in_shard(domain.task_ids[one], options.shard)]
    if options.sample is not None:
        positions = _sampled(domain, positions, options.sample)
    return tuple(positions)[: options.limit]


def in_shard(task_id: str, shard: Shard) -> bool:
    """Tell whether a task is in a part; by its id alone, so that new rows move no other."""
    digest = hashlib.sha256(task_id.encode("utf-8", "backslashreplace")).digest()
    return int.from_bytes(digest[:8], "big") % shard.count == shard.number - 1


def _sampled(domain: Domain, positions: Iterable[int], sample: Sample) -> list[int]:
    """Draw evenly over expected answers: each answer gives one task in turn."""
    groups: dict[str, list[int]] = defaultdict(list)
    for position in positions:
        expected = domain.tasks[position].expected
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
