"""Try the mutations: `python tests/mutants --only 'gates/*'`."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatchcase
from pathlib import Path

# The folder stands on the path when it is run by its name; the package needs the one above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mutants.copies import copy_source, copy_with
from mutants.mutant import DoesNotApplyError, Mutant, place_of, refuse_no_python
from mutants.pythons import make_python
from mutants.report import Tried, line, totals
from mutants.table import MUTANTS
from mutants.trial import ROOT, Result, imported_by, run_tests, stop_all

SOURCE = ROOT / "src"
TOGETHER = 8
"""Files of tests that one process tries against the unchanged source."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try what was asked for, and return 0 if a test finds each of it."""
    parser = _parser()
    options = parser.parse_args(arguments)
    chosen = _chosen(options)
    if not chosen:
        parser.error("no mutant has such a name; --list names them all")
    if options.list:
        for one in chosen:
            print(f"{one.name}\n    {one.harm}")
        return 0
    began = time.monotonic()
    try:
        for one in chosen:
            refuse_no_python(one, place_of(one, SOURCE))
        with tempfile.TemporaryDirectory(prefix="mutants-") as room:
            return _try(chosen, Path(room), options, began)
    except DoesNotApplyError as fault:
        print(f"does not apply: {fault}", file=sys.stderr)
        return 1


def _try(chosen: Sequence[Mutant], room: Path, options: argparse.Namespace, began: float) -> int:
    base = copy_source(SOURCE, room / "unchanged")
    python = make_python(room / "python", base)
    if not imported_by(python).is_relative_to(base):
        print(f"the copy is not what is imported, but {imported_by(python)}", file=sys.stderr)
        return 1
    if not _holds(python, chosen, options):
        return 1
    width = max(len(one.name) for one in chosen)
    tried: list[Tried] = []
    for one in _trials(chosen, base, room, options):
        tried.append(one)
        print(line(one, width), flush=True)
    order = {one.name: place for place, one in enumerate(chosen)}
    tried.sort(key=lambda one: order[one.mutant.name])
    print(totals(tried, time.monotonic() - began))
    return 0 if all(one.result in {Result.KILLED, Result.TIMED_OUT} for one in tried) else 1


def _holds(python: Path, chosen: Sequence[Mutant], options: argparse.Namespace) -> bool:
    """Tell whether the tests pass where nothing is changed, so that a failure means a change."""
    tests = sorted({test for one in chosen for test in one.tests})
    # Spread, since neighbours are alike in what they cost.
    count = -(-len(tests) // TOGETHER)
    groups = [tuple(tests[start::count]) for start in range(count)]
    with ThreadPoolExecutor(options.jobs) as pool:
        ended = [
            *pool.map(lambda one: run_tests(python, one, seconds=10 * options.seconds), groups)
        ]
    broken = [one for one in ended if one.result is not Result.SURVIVED]
    for one in broken:
        print(f"without any change a test fails:\n{one.words}", file=sys.stderr)
    return not broken


def _trials(
    chosen: Sequence[Mutant], base: Path, room: Path, options: argparse.Namespace
) -> Iterator[Tried]:
    def attempt(number: int, mutant: Mutant) -> Tried:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"{number}-", dir=room) as folder:
            copy = copy_with(mutant, base, Path(folder) / "source")
            python = make_python(Path(folder) / "python", copy)
            ended = run_tests(python, mutant.tests, seconds=options.seconds)
        return Tried(mutant, ended, time.monotonic() - began)

    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(attempt, *one) for one in enumerate(chosen)]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BaseException:
            # By Ctrl-C, above all: the pool would wait for all that was asked of it.
            pool.shutdown(wait=False, cancel_futures=True)
            stop_all()
            raise


def _chosen(options: argparse.Namespace) -> list[Mutant]:
    found = [
        one
        for one in MUTANTS
        if not options.only or any(fnmatchcase(one.name, name) for name in options.only)
    ]
    if options.sample is not None:
        lot = random.Random(options.seed)  # noqa: S311 - a choice to repeat, not a secret
        found = lot.sample(found, min(options.sample, len(found)))
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/mutants", description=__doc__)
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="with * for any; repeatable"
    )
    parser.add_argument("--sample", type=int, metavar="K", help="K of the mutants")
    parser.add_argument("--seed", type=int, default=0, help="what a sample is drawn by")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at once")
    parser.add_argument(
        "--seconds",
        type=float,
        default=120,
        help="the time of a mutant; one that takes longer counts as found",
    )
    parser.add_argument("--list", action="store_true", help="print names, and what each would do")
    return parser


if __name__ == "__main__":
    sys.exit(main())
