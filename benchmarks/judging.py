"""What judging costs: 27,400 runs of ordinary texts, and texts made to make a finder hang.

    python benchmarks/judging.py [--small]

It exits with 1 where a run costs more than its limit.
"""

from __future__ import annotations

import gc
import json
import random
import re
import sys
import time
from collections.abc import Sequence

from tables import is_small

from pytest_sopbench._core.answers.find import find_answer, read_returned
from pytest_sopbench._core.answers.published import NOT_FOUND
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.fields.comparison import matches_as_published
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import FieldType, OutputField, Scoring, Task
from pytest_sopbench._core.model.trace import Ending, Returned, ReturnedKind, Trace

TASKS, TRIALS = 274, 100
LIMIT_US = 50.0
SECONDS_PER_MEGABYTE = 3.0
CHARACTERS, SMALL_CHARACTERS = 10_000_000, 1_000_000

LABELS = ("Hold for inspection", "Release to carrier", "Return to sender", "Destroy")
FIELDS = (
    OutputField(name="disposition", type=FieldType.ENUM, values=LABELS),
    OutputField(name="storage_fee", type=FieldType.NUMBER),
)
PROSE = (
    "The parcel arrived with a damaged seal, so step 4 of the procedure applies. The weight was "
    "checked twice, and the second reading is the one that counts {see 4.2}.\n"
) * 4

PATHOLOGICAL = ("<", "{", "[", '"', "'", "`", "<a", "&", "<disposition>", '{"disposition":', "* ")


def texts(label: str, fee: str) -> Sequence[object]:
    """One answer in each of the forms that agents use."""
    fields = {"disposition": label, "storage_fee": fee}
    tags = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
    lines = "\n".join(f"**{name}:** {value}" for name, value in fields.items())
    return (
        fields,
        f"{PROSE}<response>\n{tags}\n</response>",
        f"{PROSE}<final_output>{json.dumps(fields)}</final_output>",
        f"{PROSE}```json\n{json.dumps(fields, indent=2)}\n```",
        f"{PROSE}{fields!r}",
        f"{PROSE}{lines}",
        f"<thinking>{PROSE}</thinking>{tags}",
        PROSE,
    )


def runs() -> list[tuple[Task, Trace]]:
    """All runs: every third answer is wrong in one of its fields."""
    chance = random.Random(0)  # noqa: S311 - the same texts each time
    made: list[tuple[Task, Trace]] = []
    for number in range(TASKS * TRIALS):
        label, fee = chance.choice(LABELS), f"{chance.randrange(10_000) / 100:.2f}"
        said = label if number % 3 else chance.choice(LABELS)
        task = Task(
            domain="parcels",
            id=f"P{number % TASKS}",
            line=2,
            inputs={},
            expected={"disposition": label, "storage_fee": fee},
            results={},
            hash="",
        )
        forms = texts(said, fee)
        returned = read_returned(forms[number % len(forms)])
        made.append((task, Trace(ending=Ending.RETURNED, returned=returned)))
    return made


def us_per_run(scoring: Scoring, made: list[tuple[Task, Trace]]) -> float:
    """The best of three passes, since anything else on the machine only adds."""
    rules = JudgingRules(fields=FIELDS, scoring=scoring, sop=PROSE * 10)
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        for task, trace in made:
            judge(rules, task, trace)
        best = min(best, time.process_time() - started)
    return best / len(made) * 1e6


def published_us_per_run(made: list[tuple[Task, Trace]]) -> float:
    """The published rules alone: a tag for each field, and containment either way."""
    patterns = {field.name: re.compile(f"<{field.name}>(.*?)</{field.name}>", re.DOTALL)
                for field in FIELDS}  # fmt: skip
    started = time.process_time()
    for task, trace in made:
        returned = trace.returned or Returned(kind=ReturnedKind.NOTHING)
        for name, pattern in patterns.items():
            found = pattern.search(returned.text)
            actual = found[1] if found else returned.mapping.get(name, NOT_FOUND)
            matches_as_published(task.expected[name], actual)
    return (time.process_time() - started) / len(made) * 1e6


def seconds(text: str) -> float:
    """How long the search through one text takes."""
    started = time.process_time()
    find_answer(Returned(kind=ReturnedKind.TEXT, text=text), FIELDS)
    return time.process_time() - started


def main() -> int:
    """Print both tables; 1 where a limit is passed."""
    size = SMALL_CHARACTERS if is_small(__doc__) else CHARACTERS
    made = runs()
    ours = us_per_run(Scoring.EXACT, made)
    both = us_per_run(Scoring.PUBLISHED, made)
    print(f"{len(made):,} runs: {ours:.1f} us per run, limit {LIMIT_US:.0f}")
    print(f"  with sop_scoring = published, which judges by both: {both:.1f} us per run")
    print(f"  the published rules alone, tags only: {published_us_per_run(made):.1f} us per run")
    made.clear()
    slowest = 0.0
    print(f"texts of {size / 1e6:g} MB, closed at their end and not:")
    for part in PATHOLOGICAL:
        gc.collect()
        text = part * (size // len(part))
        needed = [seconds(text), seconds(f'{text}"}}')]
        slowest = max(slowest, *needed)
        print(f"  {part!r:20} {needed[0]:6.2f} s {needed[1]:6.2f} s")
    return int(ours > LIMIT_US or slowest > SECONDS_PER_MEGABYTE * max(size / 1e6, 1.0))


if __name__ == "__main__":
    sys.exit(main())
