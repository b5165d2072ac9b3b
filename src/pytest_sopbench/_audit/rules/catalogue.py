"""Every rule of the audit, by its group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pytest_sopbench._audit.model import Rule, Severity
from pytest_sopbench._audit.rules import (
    comparisons,
    contract,
    documents,
    files,
    judging,
    labels,
    leakage,
    mutants,
    rows,
    sop,
    specs,
    tools,
)

FOLDER_RULES: Final = (*files.RULES, *rows.RULES)
"""The rules that hold of each folder, also of one that cannot be loaded."""

DOMAIN_RULES: Final = (
    *judging.RULES,
    *comparisons.RULES,
    *leakage.RULES,
    *specs.RULES,
    *tools.RULES,
    *labels.RULES,
    *sop.RULES,
    *contract.RULES,
    *documents.RULES,
    *mutants.RULES,
)
"""The rules that hold of domains that can be loaded."""

ACCEPTANCES: Final = "unused-acceptance"
"""The name of the rule that looks at what `metadata.json` accepts."""

_ACCEPTANCE: Final[Rule[Any]] = Rule(
    name=ACCEPTANCES,
    severity=Severity.WARNING,
    looks_for="The metadata accept a finding that there is not, or say so in another form.",
    look=lambda _: (),
)

FAILED: Final = "audit-fails"
"""The name of the rule that says that another rule could not be asked."""

_FAILED: Final[Rule[Any]] = Rule(
    name=FAILED,
    severity=Severity.ERROR,
    looks_for="A rule of the audit could not look at the folder, so that nothing is known of it.",
    look=lambda _: (),
)

GROUPS: Final[Mapping[str, tuple[Rule[Any], ...]]] = {
    "files": files.RULES,
    "keys and rows": rows.RULES,
    "judging": (*judging.RULES, *comparisons.RULES),
    "leakage": leakage.RULES,
    "specs": specs.RULES,
    "tools": tools.RULES,
    "labels": labels.RULES,
    "the text of the SOP": sop.RULES,
    "contract and expected calls": contract.RULES,
    "answers that are documents": documents.RULES,
    "mutants": mutants.RULES,
    "the audit itself": (_ACCEPTANCE, _FAILED),
}
"""All rules, in the order in which they are documented."""


def rule_names() -> tuple[str, ...]:
    """The names of all rules."""
    return tuple(rule.name for rules in GROUPS.values() for rule in rules)
