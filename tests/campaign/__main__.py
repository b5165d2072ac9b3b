"""Run the campaign: `python tests/campaign --seed 7 --sample 5`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

# The folder stands on the path when it is run by its name; the package needs the one above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from campaign.kit import Case, Part
from campaign.pool import run_all
from campaign.report import Result, Tally, explain, markdown, table
from campaign.sample import chosen, drawn, parts_in

PARTS = Path(__file__).parent / "parts"


def main(arguments: list[str] | None = None) -> int:
    """Try what was asked for, and return 0 if all of it survived and something was tried."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        plan = _plan(options)
    except LookupError as fault:
        parser.error(str(fault.args[0]))
    if options.list:
        for part, cases in plan:
            print(*(f"{part.name}: {case.name}" for case in cases), sep="\n")
        return 0
    tallies = [Tally(part.name, len(cases)) for part, cases in plan]
    by_part = {tally.part: tally for tally in tallies}
    for result in run_all(plan, jobs=options.jobs, minutes=options.minutes, keep=options.keep):
        by_part[result.part].add(result)
        if result.failure is not None:
            print(explain(result, _again(result, options)), flush=True)
    print((markdown if options.markdown else table)(tallies))
    return 0 if tallies and all(tally.holds for tally in tallies) else 1


def _plan(options: argparse.Namespace) -> list[tuple[Part, list[Case]]]:
    plan: list[tuple[Part, list[Case]]] = []
    for part in parts_in(options.parts, options.part):
        every = part.cases(options.seed)
        cases = chosen(part, every, options.case) if options.case else list(every)
        plan.append((part, drawn(cases, options.sample, options.seed) if options.sample else cases))
    return plan


def _again(result: Result, options: argparse.Namespace) -> list[str]:
    line = ["python", "tests/campaign", "--seed", str(options.seed), "--part", result.part]
    if options.parts != PARTS:
        line += ["--parts", str(options.parts)]
    return line + [word for name in result.cases for word in ("--case", name)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/campaign", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="what random choices begin with")
    parser.add_argument("--part", action="append", help="a part to try; repeatable; else all")
    parser.add_argument("--case", action="append", help="a case to try; repeatable; else all")
    parser.add_argument("--sample", type=int, metavar="K", help="K cases of each part")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="cases at once")
    parser.add_argument("--minutes", type=int, default=0, help="stop, and fail, after so long")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--keep", type=Path, help="leave the folders of the cases in here")
    parser.add_argument("--parts", type=Path, default=PARTS, help="the folder of the parts")
    return parser


if __name__ == "__main__":
    sys.exit(main())
