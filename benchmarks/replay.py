"""What serving a recorded request takes, beyond the client's own work.

    python benchmarks/replay.py

A request of a conversation over an SOP of 14 kB is looked up among 10, 1,000 and 10,000 recordings
of one run. The time is that of `RunTape.answer`: making the key of the request, and finding it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from statistics import median, quantiles
from time import perf_counter

from pytest_sopbench._replay.exchange import Recording, Request, Response, Shaping
from pytest_sopbench._replay.run_tape import RunTape

SIZES = (10, 1_000, 10_000)
TURNS = 4
ASKED = 1_000
LIMIT_MS = 0.2
SOP = "".join(f"Step {n}: weigh the parcel, and write its weight down.\n" for n in range(230))
TOOLS = [{"name": f"tool_{n}", "input_schema": {"type": "object"}} for n in range(10)]


def main() -> None:
    """Print a line for each size."""
    print(f"{'recordings':>10}  {'median ms':>9}  {'p95 ms':>7}")
    for size in SIZES:
        took = sorted(times(size))
        print(f"{size:>10,}  {median(took):>9.3f}  {quantiles(took, n=20)[-1]:>7.3f}")
    print(f"aim: at most {LIMIT_MS} ms, and the same for every size")


def times(size: int) -> Iterator[float]:
    """Yield the milliseconds that each of the last requests takes."""
    requests = list(conversations(size))
    recording = RunTape("record", Recording(), Shaping())
    reply = Response(status=200, chunks=(b'{"content": "ok"}',))
    for request in requests:
        recording.answer(request)
        recording.keep(request, reply)
    found = Recording(exchanges=recording.taken.exchanges)
    asked = requests[-ASKED:]
    for _ in range(max(1, ASKED // size)):
        tape = RunTape("only", found, Shaping())
        marks = [perf_counter()]
        for request in asked:
            tape.answer(request)
            marks.append(perf_counter())
        yield from ((after - before) * 1_000 for before, after in pairwise(marks))


def conversations(size: int) -> Iterator[Request]:
    """Yield requests of conversations of a few turns, each for a task of its own."""
    for number in range(size):
        task, turn = divmod(number, TURNS)
        messages = [{"role": "system", "content": SOP}, {"role": "user", "content": f"P_{task}"}]
        messages += [{"role": "user", "content": f"result {n}"} for n in range(turn)]
        body = json.dumps({"model": "m", "messages": messages, "tools": TOOLS})
        yield Request(method="POST", url="https://host/v1/chat", body=body.encode())


if __name__ == "__main__":
    main()
