"""Which part of a session a task is in, and what shows that the parts are the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a shard has of one domain.

    `tasks` counts the tasks that all shards share out, `digest` is that of their ids, and `part`
    counts those that are the shard's own, before a sample or a limit takes some of them.
    """

    tasks: int
    digest: str
    part: int


def shard_number(task_id: str, count: int) -> int:
    """Return the shard of a task, from 1; by its id alone, so that new rows move no other."""
    return int.from_bytes(_hashed(task_id)[:8], "big") % count + 1


def ids_digest(ids: Iterable[str]) -> str:
    """Return a digest of a set of ids, whichever way they are ordered."""
    return sha256(b"".join(sorted(map(_hashed, {*ids})))).hexdigest()[:16]


def share_of(ids: Iterable[str], number: int, count: int) -> Share:
    """Return the share that the `number`-th of `count` shards has of some tasks."""
    every = {*ids}
    part = sum(shard_number(task, count) == number for task in every)
    return Share(tasks=len(every), digest=ids_digest(every), part=part)


def _hashed(task_id: str) -> bytes:
    return sha256(task_id.encode("utf-8", "backslashreplace")).digest()
