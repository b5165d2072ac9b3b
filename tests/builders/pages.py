"""What pages of the docs write down, as files of a project."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
DOMAINS = (DOCS / "reference" / "domains.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a page that are in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def write_late_returns(folder: Path) -> str:
    """Write the domain of the reference page into `domains/` of a folder; return its agent."""
    domain = folder / "domains" / "late_returns"
    domain.mkdir(parents=True)
    files = re.findall(
        r"`domains/late_returns/([a-z.]+)`:\n\n```[a-z]+\n(.*?)```", DOMAINS, re.DOTALL
    )
    for name, content in files:
        (domain / name).write_text(content, encoding="utf-8")
    (agent,) = [code for code in blocks(DOMAINS, "python") if "def agent(" in code]
    return agent


JUDGED = (DOCS / "how-to" / "judge-documents-and-state.md").read_text(encoding="utf-8")
RETURNS = JUDGED.partition("## Judge what an agent writes")[2]


def write_returns(folder: Path) -> str:
    """Write the domain with a world into `domains/` of a folder; return its agent."""
    domain = folder / "domains" / "returns"
    domain.mkdir(parents=True)
    files = r"`domains/returns/([a-z_.]+)`.*\n\n```[a-z]+\n([^`]*(?:`[^`]+`[^`]*)*?)```"
    for name, content in re.findall(files, RETURNS):
        (domain / name).write_text(content, encoding="utf-8")
    (agent,) = [code for code in blocks(RETURNS, "python") if "def agent(" in code]
    return agent
