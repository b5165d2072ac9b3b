"""Write `steps.json` of the domains whose headings have no numbers, from their own text.

python -m bundled_domains.steps            writes them
python -m bundled_domains.steps --check    only tells whether one would differ
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from bundled_domains.generator import bundled

SECTIONS = {
    "aircraft_inspection": ("Going out", "May she go?"),
    "content_flagging": ("Is it too late to appeal?", "Answer"),
    "referral_abuse_detection_v1": ("The file", "What is done"),
    "referral_abuse_detection_v2": (
        "First evening: the ticket and the file",
        "Fifth evening: what is done",
    ),
    "video_annotation": ("Sitting down", "So what becomes of it?"),
    "warehouse_package_inspection": ("Was it announced?", "Writing it down"),
}
"""The headings of the first step and of the last; what stands outside holds for all of them."""


def steps_of(name: str) -> str:
    """The text of `steps.json`: each section between the two headings is a step."""
    sop = (bundled(name) / "sop.md").read_text(encoding="utf-8")
    parts = [part.strip() for part in re.split(r"(?m)^(?=##+ )", sop)]
    titles = [part.splitlines()[0].lstrip("# ") for part in parts]
    first, last = (titles.index(title) for title in SECTIONS[name])
    steps: list[dict[str, Any]] = [
        {"number": str(number), "title": titles[at], "text": parts[at]}
        for number, at in enumerate(range(first, last + 1), start=1)
    ]
    return json.dumps({"steps": steps}, indent=2, ensure_ascii=False) + "\n"


def main(*, check: bool) -> str:
    """Write the files; or return what would differ."""
    for name in SECTIONS:
        path: Path = bundled(name) / "steps.json"
        if not check:
            path.write_text(steps_of(name), encoding="utf-8")
        elif path.read_text(encoding="utf-8") != steps_of(name):
            return f"{name}/steps.json differs from its sop.md; run this without --check"
    return ""


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
