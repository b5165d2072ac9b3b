"""The page on the audit has every rule, and its examples do what it says of them."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_sopbench._audit.audit import GROUPS, rule_names
from pytest_sopbench._audit.model import read_acceptances
from pytest_sopbench._loading.files import parse_json

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "audit.md"
TEXT = PAGE.read_text(encoding="utf-8")


def rules_as_tables() -> str:
    parts: list[str] = []
    for group, rules in GROUPS.items():
        rows = [f"| `{rule.name}` | {rule.severity} | {rule.looks_for} |" for rule in rules]
        parts += [
            f"### {group.capitalize()}",
            "",
            "| rule | severity | looks for |",
            "|---|---|---|",
        ]
        parts += [*rows, ""]
    return "\n".join(parts)


def test_the_tables_of_rules_are_those_of_the_code() -> None:
    """To write them anew: put what `rules_as_tables` returns between the two marks."""
    (written,) = re.findall(r"<!-- rules -->\n\n(.*)\n<!-- end of rules -->", TEXT, re.DOTALL)

    assert rules_as_tables() == written


def test_every_rule_has_a_name_of_its_own_and_says_what_it_looks_for() -> None:
    rules = [rule for group in GROUPS.values() for rule in group]

    assert len(set(rule_names())) == len(rules)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]+", rule.name) for rule in rules)
    assert all(rule.looks_for.endswith(".") for rule in rules)


def test_the_example_of_an_acceptance_can_be_used() -> None:
    (example,) = re.findall(r"```json\n(\"audit\": .*?)\n```", TEXT)
    metadata = parse_json(f"{{{example}}}", PAGE)
    assert isinstance(metadata, dict)

    read, wrong = read_acceptances(metadata, rule_names())

    assert (1, ()) == (len(read), wrong)
