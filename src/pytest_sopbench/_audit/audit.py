"""Audit a domain: read its folder, ask every rule, and take off what is accepted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Final

from pytest_sopbench._audit.model import (
    KEY,
    Audit,
    Finding,
    Place,
    Rule,
    Score,
    Severity,
    read_acceptances,
    sorted_out,
)
from pytest_sopbench._audit.observing.mutants import mutate
from pytest_sopbench._audit.observing.sandbox import Limits, observe
from pytest_sopbench._audit.reading import Folder, Subject, masked, read_folder
from pytest_sopbench._audit.rules import (
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
from pytest_sopbench._audit.rules.labels import agreement, highest_rate, write_disagreements
from pytest_sopbench._audit.rules.mutants import (
    mutation_facts,
    score,
    write_strong_sample,
)
from pytest_sopbench._audit.saved import content_hash

# Every rule of the audit, by its group.


def _rules_of(room: ModuleType) -> tuple[Rule, ...]:
    """The rules of a module, in the order in which they stand there."""
    return tuple(one for one in vars(room).values() if isinstance(one, Rule))


FOLDER_GROUPS: Final[Mapping[str, tuple[Rule, ...]]] = {
    "files": _rules_of(files),
    "keys and rows": _rules_of(rows),
}
"""The rules that hold of each folder, also of one that cannot be loaded."""

DOMAIN_GROUPS: Final[Mapping[str, tuple[Rule, ...]]] = {
    "judging": _rules_of(judging),
    "leakage": _rules_of(leakage),
    "specs": _rules_of(specs),
    "tools": _rules_of(tools),
    "labels": _rules_of(labels),
    "the text of the SOP": _rules_of(sop),
    "contract and expected calls": _rules_of(contract),
    "answers that are documents": _rules_of(documents),
    "mutants": _rules_of(mutants),
}
"""The rules that hold of domains that can be loaded."""

ACCEPTANCES: Final = "unused-acceptance"
"""The name of the rule that looks at what `metadata.json` accepts."""

_ACCEPTANCE: Final[Rule] = Rule(
    name=ACCEPTANCES,
    severity=Severity.WARNING,
    looks_for="The metadata accept a finding that there is not, or say so in another form.",
    look=lambda _: (),
)

FAILED: Final = "audit-fails"
"""The name of the rule that says that another rule could not be asked."""

_FAILED: Final[Rule] = Rule(
    name=FAILED,
    severity=Severity.ERROR,
    looks_for="A rule of the audit could not look at the folder, so that nothing is known of it.",
    look=lambda _: (),
)

GROUPS: Final[Mapping[str, tuple[Rule, ...]]] = {
    **FOLDER_GROUPS,
    **DOMAIN_GROUPS,
    "the audit itself": (_ACCEPTANCE, _FAILED),
}
"""All rules, in the order in which they are documented."""


def rule_names() -> tuple[str, ...]:
    """The names of all rules."""
    return tuple(rule.name for rule in chain(*GROUPS.values()))


# What is asked of a folder.

_ORDER: Final = tuple(Severity)


def disagreements_written(folder: Path, *, limits: Limits | None = None) -> int:
    """Write where the policy of a domain disagrees with its rows; return the number of rows.

    Raises:
        LoadingError: the domain cannot be loaded, or a file cannot be written.
    """
    seen = read_folder(folder)
    if seen.refused is not None:
        raise seen.refused
    subject = _subject(seen, run_code=True, limits=limits)
    return write_disagreements(subject) if subject is not None else 0


def audit(
    folder: Path,
    *,
    run_code: bool = True,
    mutants: bool = False,
    write_sample: bool = False,
    limits: Limits | None = None,
) -> Audit:
    """Audit a folder, and return with the findings what was accepted.

    Args:
        folder: the folder of the domain.
        run_code: whether `tools.py` and `policy.py` may be run, in a process of their own.
        mutants: whether wrong agents are made of the policy and of right trajectories.
        write_sample: whether the strong sample is written into the folder.
        limits: how long they may take.

    Raises:
        SopbenchError: the sample cannot be written.
    """
    seen = read_folder(folder)
    acceptances, wrong = read_acceptances(seen.metadata, rule_names())
    subject = _subject(seen, run_code=run_code, limits=limits)
    if subject is not None and mutants and run_code:
        subject = replace(subject, mutation=mutate(subject.domain, limits))
    left, accepted, unused = sorted_out(masked(_findings(seen, subject), subject), acceptances)
    if subject is None or subject.mutation is None:
        names = {one.name for one in DOMAIN_GROUPS["mutants"]}
        unused = tuple(one for one in unused if one.rule not in names)
    found = None
    if subject is not None and subject.mutation is not None:
        found = score(subject.mutation, (one.place for one, _ in accepted))
        if write_sample and (subject.mutation.mutants or not subject.mutation.is_whole):
            write_strong_sample(subject, subject.mutation)
    odd = [(what, "correct or remove it") for what in wrong]
    for one in unused:
        where = f" at {one.place!r}" if one.place else ""
        what = f"{one.rule!r}{where} is accepted, and there is no such finding"
        odd.append((what, "remove the acceptance"))
    place = Place(file=seen.metadata_file, column=KEY)
    findings = [
        *left,
        *(_ACCEPTANCE.named(Finding(place=place, what=what, do=do)) for what, do in odd),
    ]
    return Audit(
        name=seen.domain.name if seen.domain is not None else folder.name,
        folder=folder,
        findings=tuple(sorted(findings, key=lambda one: _ORDER.index(one.severity))),
        accepted=accepted,
        hash=content_hash(folder),
        is_whole=subject is not None and run_code,
        facts=tuple(_facts(subject, found, run_code=run_code)),
        score=found,
    )


def _subject(seen: Folder, *, run_code: bool, limits: Limits | None) -> Subject | None:
    if seen.domain is None:
        return None
    subject = Subject(folder=seen, domain=seen.domain, tasks=tuple(seen.domain.tasks))
    if not run_code:
        return subject
    return replace(subject, observed=observe(seen.domain, subject.id_header, limits))


def _findings(seen: Folder, subject: Subject | None) -> Iterable[Finding]:
    for rule in chain(*FOLDER_GROUPS.values()):
        yield from _asked(rule, seen)
    for one in chain(*DOMAIN_GROUPS.values()) if subject is not None else ():
        yield from _asked(one, subject)


def _asked(rule: Rule, seen: object) -> Sequence[Finding]:
    """Ask a rule; if it fails, the others are asked all the same, and this is printed."""
    try:
        return tuple(rule.findings(seen))
    except Exception as fault:  # noqa: BLE001 - a folder may hold what nobody has thought of
        what = f"the rule {rule.name!r} cannot look at this folder: {type(fault).__name__}: {fault}"
        do = "whether it holds is not known; please report what the folder holds"
        return (_FAILED.named(Finding(place=Place(), what=what[:500], do=do)),)


def _facts(subject: Subject | None, found: Score | None, *, run_code: bool) -> Iterable[str]:
    if subject is None:
        return
    domain = subject.domain
    if not run_code and (domain.tools_file or domain.policy_file):
        yield "its own code was not run, so nothing is known of what it does"
    if domain.policy_file is None:
        yield "no label is compared with the SOP, since there is no policy.py"
    if domain.tool_specs and not domain.contract and not domain.expected_calls:
        yield "no tool call is checked: there is neither a contract nor expected_calls.jsonl"
    if domain.mcp is not None:
        yield "its MCP server was not started, so nothing is known of what its tools do"
    if (highest := highest_rate(subject)) < 1:
        yield f"no agent can have a TSR above {100 * highest:.1f} %"
    agreeing, asked = agreement(subject)
    if agreeing < asked:
        share = f"{100 * agreeing / asked:.1f} %"
        yield f"the policy agrees with the labels on {agreeing} of {asked} rows ({share})"
    if subject.mutation is not None and found is not None:
        yield from mutation_facts(subject.mutation, found)
