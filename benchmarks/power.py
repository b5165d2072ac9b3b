"""What a comparison with a baseline can see: simulated sessions, judged as real ones are.

Run it as `python benchmarks/power.py [SESSIONS]`; 400 sessions for each number unless given. It
prints the tables of docs/explanation/what-a-comparison-can-see.md, in about two minutes. Every
task is as good as another, and runs are independent: the agent is right in 90 % of them before.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import comb
from random import Random

from pytest_sopbench._core.statistics import ALPHA, paired_test

BEFORE = 0.9
SEEN = 0.8
TASKS = (50, 100, 200, 500, 1_000)
TRIALS = (1, 3, 5)
HEADINGS = ("1 trial", "3 trials", "5 trials")


def called_regressions(
    *, tasks: int, trials: int, loss: float, sessions: int, seed: int = 0
) -> float:
    """Return the share of sessions that are called a regression, of an agent that lost so much."""
    random = Random(seed)  # noqa: S311 - a simulation hides nothing
    found = 0
    for _ in range(sessions):
        before = correct_trials(random, tasks, trials, BEFORE)
        now = correct_trials(random, tasks, trials, BEFORE - loss)
        differences = [new - old for old, new in zip(before, now, strict=True)]
        found += sum(differences) < 0 and paired_test(differences).p < ALPHA
    return found / sessions


def correct_trials(random: Random, tasks: int, trials: int, rate: float) -> Sequence[int]:
    """Draw for each task how many of its trials are correct."""
    counts = range(trials + 1)
    weights = [comb(trials, n) * rate**n * (1 - rate) ** (trials - n) for n in counts]
    return random.choices(counts, weights, k=tasks)


def least_loss_seen(*, tasks: int, trials: int, sessions: int) -> int:
    """Return the least loss, in whole points, that is called a regression in 80 % of sessions."""
    low, high = 1, 60
    while low < high:
        middle = (low + high) // 2
        share = called_regressions(tasks=tasks, trials=trials, loss=middle / 100, sessions=sessions)
        low, high = (low, middle) if share >= SEEN else (middle + 1, high)
    return low


def main() -> None:
    """Print both tables."""
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"least loss in points that is seen in {SEEN:.0%} of {sessions} sessions\n")
    print("| tasks | " + " | ".join(HEADINGS) + " |")
    print("|--:|" + "--:|" * len(TRIALS))
    for tasks in TASKS:
        losses = [
            least_loss_seen(tasks=tasks, trials=trials, sessions=sessions) for trials in TRIALS
        ]
        print(f"| {tasks:,} | " + " | ".join(str(loss) for loss in losses) + " |", flush=True)
    print(f"\ncalled a regression, of {sessions} sessions with 200 tasks\n")
    print("| loss in points | " + " | ".join(HEADINGS) + " |")
    print("|--:|" + "--:|" * len(TRIALS))
    for loss in (0, 2, 4, 6, 8, 10):
        shares = [
            called_regressions(tasks=200, trials=trials, loss=loss / 100, sessions=sessions)
            for trials in TRIALS
        ]
        print(f"| {loss} | " + " | ".join(f"{share:.0%}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
