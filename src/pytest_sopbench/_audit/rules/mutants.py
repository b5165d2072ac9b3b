"""Does the suite notice? What survives, what it comes to, and the strongest sample."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._audit.model import Fault, Place, Rule, Score, Severity
from pytest_sopbench._audit.observing.mutants import BY, Mutant, Mutation
from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._loading.strong import STRONG_FILE, data_hash
from pytest_sopbench._sessions.file.event_logs import write_pages
from pytest_sopbench.errors import SopbenchError

_FEWEST: Final = 2
"""Tasks that a change must fail, so that none of them bears it alone."""

# What it comes to: survivors are findings, which the metadata may accept with a reason.

UNFINISHED: Final = "mutants-unfinished"
SURVIVES: Final = "mutant-survives"
THIN: Final = "mutant-on-one-task"
UNNOTICED: Final = "error-unnoticed"
SOFT: Final = "error-fails-nothing"


def _unfinished(seen: Subject) -> Iterator[Fault]:
    mutation = seen.mutation
    if mutation is None or mutation.is_whole:
        return
    ends = [f"the process that ran them {one.kind} at {one.detail}" for one in mutation.incidents]
    yield Fault(
        place=Place(file=(seen.domain.policy_file or seen.domain.data_file).name),
        what=f"not every wrong agent was run: {'; '.join(ends)}",
        do="give them more time by --time-limit, or mend what ends the process",
    )


def _survivors(seen: Subject) -> Iterator[Fault]:
    for one in _alive(seen.mutation):
        if one.line and not one.noticed:
            yield Fault(place=one.place, what=_what(one, seen.mutation), do=_row_to_add(one))


def _thin(seen: Subject) -> Iterator[Fault]:
    for one in _alive(seen.mutation):
        if one.line and 0 < len(one.fails) < _FEWEST:
            task = seen.domain.task_ids[one.fails[0]]
            what = f"{_clause(one)}is noticed on one task alone, {task}"
            yield Fault(place=one.place, what=what, do="add a second row that it decides")


def _ways(seen: Subject) -> Iterator[Fault]:
    for one in _alive(seen.mutation):
        if not one.line and not one.noticed:
            yield Fault(place=one.place, what=_what(one, seen.mutation), do=_rule_to_add(one))


def _soft(seen: Subject) -> Iterator[Fault]:
    for one in _alive(seen.mutation):
        if one.noticed and not one.fails:
            counts = Counter(one.noticed.values())
            share = f"{counts[one.by]} of {one.reached} tasks"
            if one.by == "should":
                more = (
                    f", expected calls alone on {counts['calls']} more" if counts["calls"] else ""
                )
                what = f"a rule notices it on {share}, and it only should hold{more}"
                do = 'give the rule "severity": "must", or run with --sop-contract=enforce'
            else:
                what = f"only expected calls notice it, on {share}, and they fail no run"
                do = f"give expected calls a gate, or {_rule_to_add(one)}"
            yield Fault(place=one.place, what=f"{_clause(one)}{what}", do=do)


def _alive(mutation: Mutation | None) -> Iterator[Mutant]:
    yield from (one for one in (mutation.mutants if mutation else ()) if not one.broken)


def _clause(one: Mutant) -> str:
    return f"(clause {', '.join(one.clauses)}) " if one.clauses else ""


def _what(one: Mutant, mutation: Mutation | None) -> str:
    tasks = len(mutation.judged) if mutation else 0
    if one.line and not one.reached:
        return f"{_clause(one)}goes unnoticed: none of {tasks} tasks comes to this line"
    of = f"{one.reached} of {one.reached} tasks"
    if one.line and one.differs:
        more = f", though the calls differ on {len(one.differs)}: a snapshot would notice"
        return f"{_clause(one)}goes unnoticed on {of}{more}"
    why = "no task depends on it" if one.line else "no rule demands it and no task depends on it"
    return f"{_clause(one)}goes unnoticed on {of}: {why}"


def _row_to_add(one: Mutant) -> str:
    text = one.text.partition(" in ")[0] if one.kind == "constant" else one.text
    before, _, after = text.partition(" -> ")
    condition = before.removeprefix("if ")
    match one.kind:
        case "comparison" if any(sign in before for sign in ("<", ">")):
            row = f"a row on which both sides of {before} are equal"
        case "branch":
            held = "true" if after == "never" else "false"
            row = f"a row on which {condition} is {held}, and which ends otherwise without it"
        case "constant":
            row = f"a row whose answer is another with {after} for {before}"
        case "element":
            row = f"a row that needs {before.removesuffix(' is left out')}"
        case "call":
            tool = before.partition("(")[2].partition(",")[0].strip("'\") ")
            return f"add {_requires(tool, one.clauses)}"
        case _:
            row = "a row whose answer it changes"
    accept = f'{{"rule": "{SURVIVES}", "place": {json.dumps(_accepted_by(one))}, "reason": ...}}'
    return f"add {row}; if it means the same, accept {accept}"


def _accepted_by(one: Mutant) -> str:
    return f"{one.function}: {one.text}"


def _requires(tool: str, clauses: Sequence[str] = ()) -> str:
    rule: dict[str, Any] = {"id": f"{tool}-is-called"}
    if clauses:
        rule["clause"] = clauses[0]
    return json.dumps({**rule, "severity": "must", "requires": {"all_of": [tool]}})


def _rule_to_add(one: Mutant) -> str:
    must = {"severity": "must"}
    rule: dict[str, Any]
    match one.kind:
        case "left-out" | "stopped":
            when = f', with "when" for the {one.reached} tasks that need it'
            return f"add {_requires(one.tool)}{when}"
        case "repeated":
            rule = {"id": f"{one.tool}-once", **must, "at_most": {one.tool: 1}}
        case "ignored":
            rule = {"id": f"no-{one.other}", **must, "forbids": [one.other]}
            return f'add {json.dumps(rule)}, with "when" for the tasks on which {one.tool} fails'
        case "swapped":
            order = [one.tool, one.other]
            rule = {"id": f"{one.tool}-before-{one.other}", **must, "before": order}
        case "value" if one.source:
            where = {"tool": one.tool, "argument": one.other, **one.source}
            rule = {"id": f"{one.tool}-{one.other}", **must, "arguments": where}
        case "invented":
            return f'add "additionalProperties": false to the spec of {one.tool}'
        case _:
            return "add a rule about this argument, or expected calls and a gate on them"
    return f"add {json.dumps(rule)}"


RULES: Final[tuple[Rule[Subject], ...]] = (
    Rule(
        name=UNFINISHED,
        severity=Severity.ERROR,
        looks_for="With --mutants: wrong agents that were not run; the score counts the others.",
        look=_unfinished,
    ),
    Rule(
        name=SURVIVES,
        severity=Severity.WARNING,
        looks_for="With --mutants: a change of the policy that nothing in the suite notices.",
        look=_survivors,
    ),
    Rule(
        name=UNNOTICED,
        severity=Severity.WARNING,
        looks_for="With --mutants: right calls, changed as agents go wrong, that nothing notices.",
        look=_ways,
    ),
    Rule(
        name=SOFT,
        severity=Severity.NOTE,
        looks_for="With --mutants: an error that is counted, and fails no run.",
        look=_soft,
    ),
    Rule(
        name=THIN,
        severity=Severity.NOTE,
        looks_for="With --mutants: a change of the policy that a single task notices.",
        look=_thin,
    ),
)
RULE_NAMES: Final = frozenset(one.name for one in RULES)


def score(mutation: Mutation, accepted: Iterable[Place] = ()) -> Score:
    """Count the mutants that fail the suite; soft rules and expected calls fail none."""
    excused = {str(one) for one in accepted}
    counted = [one for one in _alive(mutation) if str(one.place) not in excused]
    return Score(
        noticed=sum(bool(one.fails) for one in counted),
        of=len(counted),
        is_whole=mutation.is_whole,
    )


def mutation_facts(mutation: Mutation, found: Score) -> Iterator[str]:
    """Say what was measured, in a few lines."""
    if not mutation.mutants:
        yield "no mutants: without policy and expected calls no right trajectory is known"
        return
    alive = list(_alive(mutation))
    counts = Counter(one.by for one in alive)
    parts = [f"{counts[by]} {words}" for by, words in BY.items() if counts[by]]
    yield f"mutants: {found.noticed} of {found.of} fail the suite ({found.percent:.1f} %)"
    yield f"  noticed {', '.join(parts) or 'by nothing'}; unnoticed {counts['']}"
    if broken := len(mutation.mutants) - len(alive):
        yield f"  {broken} more cannot be run at all, and are not counted"
    left = mutation.tasks - len(mutation.judged)
    if left and mutation.is_whole:
        yield f"  {left} of {mutation.tasks} tasks left out: their right run is not known, or fails"
    for one in mutation.incidents:
        yield f"  the process that ran them {one.kind} at {one.detail or one.tool}"


# The smallest sample that sees what the whole domain sees.


def strong_sample(subject: Subject, mutation: Mutation) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Choose rows greedily until they hold all; return them, and how many mutants they fail.

    Together they notice each mutant that the whole domain notices, and hold each label, rule and
    tag. The first N of them are the best N that were found.
    """
    wanted = _wanted(subject, mutation)
    chosen: list[int] = []
    noticed: list[int] = []
    held: dict[int, set[tuple[str, object]]] = defaultdict(set)
    for thing, rows in wanted.items():
        for row in rows:
            held[row].add(thing)
    left = {*wanted}
    while left:
        # Mutants before labels: the first rows are to say the most.
        row = max(sorted(held), key=lambda one: _gain(held[one], left))
        left -= held[row]
        chosen.append(row)
        mutants = sum(kind == "mutant" for kind, _ in left)
        noticed.append(sum(kind == "mutant" for kind, _ in wanted) - mutants)
    return tuple(chosen), tuple(noticed)


def _wanted(subject: Subject, mutation: Mutation) -> dict[tuple[str, object], set[int]]:
    """What a sample has to hold, and the rows that hold each."""
    wanted: dict[tuple[str, object], set[int]] = defaultdict(set)
    for number, one in enumerate(_alive(mutation)):
        for row in one.fails:
            wanted["mutant", number].add(row)
    for row in mutation.judged:
        for rule in mutation.rules.get(row, ()):
            wanted["rule", rule].add(row)
        for tag in subject.tasks[row].tags:
            wanted["tag", tag].add(row)
    for name, labels in subject.labels.items():
        # A field of which nearly each row has another value asks for no sample.
        if len(set(labels)) * 5 <= len(labels):
            for row, label in enumerate(labels):
                wanted["label", (name, label)].add(row)
    return wanted


def _gain(held: set[tuple[str, object]], left: set[tuple[str, object]]) -> tuple[int, int]:
    things = held & left
    mutants = sum(kind == "mutant" for kind, _ in things)
    return mutants, len(things)


def write_strong_sample(subject: Subject, mutation: Mutation) -> Path:
    """Write the sample into the domain's folder.

    Raises:
        SopbenchError: the file cannot be written, or not all mutants were run.
    """
    if not mutation.is_whole:
        msg = f"{subject.domain.name}: not every wrong agent was run, so no sample is written"
        raise SopbenchError(msg, hint="give them more time by --time-limit")
    rows, noticed = strong_sample(subject, mutation)
    alive = list(_alive(mutation))
    content = {
        "data": data_hash(subject.domain),
        "mutants": len(alive),
        "unseen": sum(not one.fails for one in alive),
        "tasks": [subject.domain.task_ids[row] for row in rows],
        "noticed": list(noticed),
    }
    path = subject.domain.folder / STRONG_FILE
    write_pages({path: json.dumps(content, indent=1) + "\n"})
    return path
