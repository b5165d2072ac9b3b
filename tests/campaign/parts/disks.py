"""Disks that fail: full, read-only, gone, or refusing one step of many."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator, Sequence

from campaign.faulty import MODES, Fault
from campaign.kit import Case, Part

STEPS = {"write": 40, "fsync": 4, "replace": 4, "open": 14, "mkdir": 4, "unlink": 4, "symlink": 1}
"""How often about a session takes each step; the fault falls on one of them."""

NUMBERS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT, errno.EACCES)

HABITS = (
    "folder removed", "all removed", "folder moved", "folder is a file", "session removed",
    "session emptied", "session is a folder", "session of another", "session halved",
    "noise in the session", "last is a folder", "last leads to a full device",
)  # fmt: skip


def cases(seed: int) -> Sequence[Case]:
    lot = random.Random(seed)  # noqa: S311 - no secret
    return [Case(name=name, run=fault.run) for name, fault in _faults(lot)]


def _faults(lot: random.Random) -> Iterator[tuple[str, Fault]]:
    modes = [*MODES]
    for function, steps in STEPS.items():
        for number in NUMBERS[: 1 if function == "symlink" else 4]:
            at, mode = lot.randrange(1, steps + 1), lot.choice(modes)
            name = f"{function} refuses/{errno.errorcode[number]} at step {at}, {mode}"
            yield (
                name,
                Fault(
                    function=function,
                    at=at,
                    number=number,
                    mode=mode,
                    is_gated=number != errno.EIO,
                ),
            )
    for habit in HABITS:
        mode = lot.choice(modes)
        # Only one of these spares what other sessions have left.
        is_gone = habit in HABITS[:4] or habit == "session of another"
        yield f"{habit}/{mode}", Fault(habit=habit, mode=mode, spares_older=not is_gone)
    for mode in modes:
        for _ in range(2):
            size = lot.randrange(4, 36, 4)
            small = Fault(size=size, mode=mode, is_gated=lot.random() < 0.5)
            yield f"a small disk/{size} kB, {mode}, {lot.random():.3f}", small
        limit = lot.randrange(1, 24)
        yield f"small files/{limit} kB, {mode}", Fault(limit=limit, mode=mode)
        yield f"read-only/{mode}", Fault(read_only=True, mode=mode)
    yield from _placed()


def _placed() -> Iterator[tuple[str, Fault]]:
    """What is in the way from the start."""
    for what, place in (
        ("/dev/full", "full/sessions"), ("/proc", "full/sessions"), ("a file", "full/sessions"),
        ("nowhere/at/all", "full/sessions"), ("a file", "full"), ("/dev/null", "full/sessions"),
    ):  # fmt: skip
        options = ("-o", "sop_dir=full/sessions/more")
        name = f"in the way/{what.replace('/', ' ').strip()} at {place}"
        yield name, Fault(before=(what, place), options=options)
    full = {"GITHUB_STEP_SUMMARY": "/dev/full"}
    yield "a full summary/github", Fault(options=("--sop-report=md=github",), env=full)
    yield "a full page/markdown", Fault(options=("--sop-report=md=/dev/full",))


PART = Part(name="disks", cases=cases)
