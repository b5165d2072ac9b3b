"""Write `tasks.jsonl` and `expected_calls.jsonl`, always the same; `--check` only compares."""

from __future__ import annotations

import sys

from bundled_domains.generator import Generator, bundled
from bundled_domains.referral_abuse_detection_v1.desk import DESK

if __name__ == "__main__":
    generator = Generator(folder=bundled(DESK.name), rows=DESK.rows, data="tasks.jsonl")
    sys.exit(generator.main(sys.argv[1:]))
