"""The commands of a page, and what their output must hold."""

from __future__ import annotations

import re


def commands_of(page: str) -> list[tuple[str, str]]:
    """Return each command of pytest under which the page shows its output, and that output."""
    return re.findall(r"^\$ pytest (.*)\n((?:[^`$\n].*\n)+)", page, re.MULTILINE)


def pattern_of(shown: str) -> str:
    """Return what the output must hold; `...` stands for any lines, or for a part of one."""
    lines = [re.sub("={3,}", "===", line) for line in shown.splitlines() if line != "..."]
    return "(?s:.*)".join(re.escape(line).replace(r"\.\.\.", ".*") for line in lines)


def is_shown(shown: str, told: str) -> bool:
    """Tell whether a page shows what was told."""
    return re.search(pattern_of(shown), re.sub("={3,}", "===", told)) is not None
