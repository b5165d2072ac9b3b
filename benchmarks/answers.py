"""What reading an answer out of a text costs: a plain text, and texts made to make a reader hang.

    python benchmarks/answers.py [--small]

It exits with 1 where a text costs more than its limit.
"""

from __future__ import annotations

import sys
import time

from tables import is_small

from pytest_sopbench._core.answers.find import find_answer
from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._core.model.trace import Returned, ReturnedKind

FIELDS = (OutputField(name="decision", type=FieldType.ENUM, values=("approve", "reject")),)
CHARACTERS, SMALL_CHARACTERS = 1_000_000, 100_000
HOSTILE_LIMIT_S = 0.5
PLAIN_LIMIT_MS = 0.3
ROUNDS = 200

PARTS = (
    "<", "<a>", "<a", "</a>", "<decision>", "<decision>approve", "<decision>approve</decision>",
    "<answer>", "<answer>x</answer>", "<answer><b>", "<think>", "</think>", "<!--", "-->",
    "&lt;decision&gt;", "<|channel|>final<|message|>", "[THINK]", "{", '{"decision":',
    '{"output":', '[{"decision":"approve"},', "{decision: approve}", "[", "- ", "* a\n",
    "- a\n  - b\n", "> ", "> a\n", "1. ", "# decision\n", "    a\n\n", "```\n", "**", "*a ", "_",
    "~~a", '"', "'", "\\boxed{", "\\boxed{a}", "decision: approve\n", "Decision:\n", "| a | b |\n",
    "approve ", "a: b; ", "<td></td>", " ", "\u200b", "is to be ",
    "is rejected ", "once ", "decision is ", "manager ", "decision: a, ", "1 ", ". ", "no. 5 ",
)  # fmt: skip
FRAMES = ("{}", '{}"}}', "<answer>{}</answer>", "decision: approve\n\n{}")
SENTENCE = (
    "The parcel arrived with a damaged seal, so step 4 of the procedure applies. The weight was "
    "checked twice, and the second reading is the one that counts (see 4.2).\n"
)
PROSE = (SENTENCE * 3 + "\n") * 4
PLAIN = {
    "prose alone": PROSE,
    "a tag at the end": f"{PROSE[:-40]}\n<decision>approve</decision>",
    "a line at the end": f"{PROSE[:-40]}\n\n**Decision:** approve\n",
}


def seconds(text: str) -> float:
    """How long the reading of one text takes."""
    returned = Returned(kind=ReturnedKind.TEXT, text=text)
    started = time.process_time()
    find_answer(returned, FIELDS)
    return time.process_time() - started


def main() -> int:
    """Print both tables; 1 where a limit is passed."""
    size = SMALL_CHARACTERS if is_small(__doc__) else CHARACTERS
    slowest = 0.0
    for name, text in PLAIN.items():
        seconds(text)
        best = min(seconds(text) for _ in range(ROUNDS)) * 1e3
        slowest = max(slowest, best)
        print(f"{name}, {len(text) / 1e3:.1f} kB: {best:.2f} ms, limit {PLAIN_LIMIT_MS} ms")
    print(f"texts of {size / 1e6:g} MB, in {len(FRAMES)} frames each, limit {HOSTILE_LIMIT_S} s:")
    worst = 0.0
    for part in PARTS:
        text = part * (size // len(part))
        needed = [seconds(frame.format(text)) for frame in FRAMES]
        worst = max(worst, *needed)
        print(f"  {part!r:32} {'  '.join(f'{one:5.2f} s' for one in needed)}")
    return int(slowest > PLAIN_LIMIT_MS or worst > HOSTILE_LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
