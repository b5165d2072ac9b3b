"""Does the suite notice? What survives, what it comes to, and the strongest sample."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pytest_sopbench._audit.model import Finding, Place, Score, error, note, warning
from pytest_sopbench._audit.observing.mutants import BY, Mutant, Mutation
from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._loading.evidence import STRONG_FILE, data_hash
from pytest_sopbench._sessions.event_logs import write_pages
from pytest_sopbench.errors import SopbenchError

_FEWEST: Final = 2
"""Tasks that a change must fail, so that none of them bears it alone."""

# What it comes to: survivors are findings, which the metadata may accept with a reason.

UNFINISHED: Final = "mutants-unfinished"
SURVIVES: Final = "mutant-survives"
THIN: Final = "mutant-on-one-task"
UNNOTICED: Final = "error-unnoticed"
SOFT: Final = "error-fails-nothing"


@error(UNFINISHED, "With --mutants: wrong agents that were not run; the score counts the others.")
def _unfinished(seen: Subject) -> Iterator[Finding]:
    mutation = seen.mutation
    if mutation is None or mutation.is_whole:
        return
    ends = [f"the process that ran them {one.kind} at {one.detail}" for one in mutation.incidents]
    yield Finding(
        place=Place(file=(seen.domain.policy_file or seen.domain.data_file).name),
        what=f"not every wrong agent was run: {'; '.join(ends)}",
        do="give them more time by --time-limit, or mend what ends the process",
    )


@warning(SURVIVES, "With --mutants: a change of the policy that nothing in the suite notices.")
def _survivors(seen: Subject) -> Iterator[Finding]:
    for one in _alive(seen.mutation):
        if one.line and not one.noticed:
            do = _remedy(one, seen) or _row_to_add(one)
            what = _what(one, seen.mutation)
            if one.mends:
                tasks = _tasks(one.mends, seen.domain.task_ids)
                what += f", but it gives the expected answer on {tasks}, and the policy does not"
                do = f"see whether the policy is wrong here; else {do}"
            yield Finding(place=one.place, what=what, do=do)


@warning(
    UNNOTICED, "With --mutants: right calls, changed as agents go wrong, that nothing notices."
)
def _ways(seen: Subject) -> Iterator[Finding]:
    for one in _alive(seen.mutation):
        if not one.line and not one.noticed:
            do = _remedy(one, seen) or _OTHERWISE.get(one.kind, _SNAPSHOT)
            yield Finding(place=one.place, what=_what(one, seen.mutation), do=do)


@note(SOFT, "With --mutants: an error that is counted, and fails no run.")
def _soft(seen: Subject) -> Iterator[Finding]:
    for one in _alive(seen.mutation):
        if one.noticed and not one.fails:
            what, do = _softly(one, seen)
            yield Finding(place=one.place, what=f"{_clause(one)}{what}", do=do)


@note(THIN, "With --mutants: a change of the policy that a single task notices.")
def _thin(seen: Subject) -> Iterator[Finding]:
    for one in _alive(seen.mutation):
        if one.line and 0 < len(one.fails) < _FEWEST:
            task = seen.domain.task_ids[one.fails[0]]
            what = f"{_clause(one)}is noticed on one task alone, {task}"
            yield Finding(place=one.place, what=what, do="add a second row that it decides")


def _softly(one: Mutant, seen: Subject) -> tuple[str, str]:
    """By what an error is noticed that fails no run, and what would make it fail."""
    counts = Counter(one.noticed.values())
    share = _of(counts[one.by], one.reached)
    rule = _remedy(one, seen)
    if one.by == "should":
        names = [f"`{name}`" for name, _ in Counter(one.soft).most_common()]
        rules = f"rule {names[0]}" if len(names) == 1 else f"rules {', '.join(names)}"
        verb = "notices it" if len(names) == 1 else "notice it"
        calls = counts["calls"] + counts["steps"]
        more = f"; expected calls alone do on {calls} more" if calls else ""
        do = f'give {names[0]} "severity": "must", or set `sop_contract = enforce`'
        return f"{rules} {verb} on {share}, but only should hold{more}", do
    if one.by == "calls":
        what = f"only expected calls notice it, on {share}, and they fail no run"
        return what, f"{rule}, or run with {_GATE}" if rule else f"run with {_GATE}"
    what = f"only the order or number of the expected calls tells, on {share}, and fails no run"
    return what, f"{rule}, or {_SNAPSHOT}" if rule else _SNAPSHOT


def _alive(mutation: Mutation | None) -> Iterator[Mutant]:
    yield from (one for one in (mutation.mutants if mutation else ()) if not one.broken)


def _clause(one: Mutant) -> str:
    return f"(clause {', '.join(one.clauses)}) " if one.clauses else ""


def _what(one: Mutant, mutation: Mutation | None) -> str:
    tasks = len(mutation.judged) if mutation else 0
    if one.line and not one.reached:
        return f"{_clause(one)}goes unnoticed: none of {tasks} tasks comes to this line"
    of = _of(one.reached, one.reached)
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
        case _:
            row = "a row whose answer it changes"
    place = json.dumps(f"{one.function}: {one.text}")
    accept = f'{{"rule": "{SURVIVES}", "place": {place}, "reason": ...}}'
    return f"add {row}; if it means the same, accept {accept}"


_GATE: Final = "--sop-gate=expected_calls=1"
_SNAPSHOT: Final = "compare the calls with a snapshot; no gate sees their order or number"
_OTHERWISE: Final = {
    **dict.fromkeys(
        ("left-out", "stopped", "ignored", "invented", "value"),
        f"add expected calls, and run with {_GATE}",
    ),
    "label": "compare this field, and so that another value of it is wrong",
}
"""What helps if no rule does."""


def _remedy(one: Mutant, seen: Subject) -> str:
    """The rule that notices it, and on which tasks; it was tried. Empty if there is none."""
    tried = one.remedy
    if tried is None:
        return ""
    text = f"if the procedure demands it, add {json.dumps(tried.rule)}"
    ids = seen.domain.task_ids
    if len(tried.left_out) > len(tried.notices):
        text += f', with a "when" for {_tasks(tried.notices, ids)} alone'
    elif tried.left_out:
        others = _tasks(tried.left_out, ids)
        text += f', with a "when" that leaves out {others}, in which the right run breaks it'
    if len(tried.notices) < one.reached:
        text += f"; it notices {len(tried.notices)} of {one.reached}"
    return text


def _tasks(rows: Sequence[int], ids: Sequence[str]) -> str:
    """Name one task, or one of several."""
    first = ids[rows[0]]
    return f"task {first}" if len(rows) == 1 else f"{len(rows)} tasks such as {first}"


def _of(count: int, of: int) -> str:
    return f"{count} of {of} task{'' if of == 1 else 's'}"


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
    if mutation.mutants:
        yield from _counts(mutation, found)
    else:
        yield f"no mutants: {_why_none(mutation)}"
    left = len(mutation.left_out)
    if left and mutation.is_whole:
        reasons = Counter(mutation.left_out.values()).most_common()
        told = ", ".join(f"{why} on {count}" for why, count in reasons)
        yield f"  {left} of {mutation.tasks} tasks left out: the right run {told}"
    for one in mutation.incidents:
        yield f"  the process that ran them {one.kind} at {one.detail or one.tool}"


def _counts(mutation: Mutation, found: Score) -> Iterator[str]:
    alive = list(_alive(mutation))
    counts = Counter(one.by for one in alive)
    parts = [f"{counts[by]} {words}" for by, words in BY.items() if counts[by]]
    yield f"mutants: {found.noticed} of {found.of} fail the suite ({found.percent:.1f} %)"
    yield f"  noticed {', '.join(parts) or 'by nothing'}; unnoticed {counts['']}"
    if broken := len(mutation.mutants) - len(alive):
        yield f"  {broken} more cannot be run at all, and are not counted"


def _why_none(mutation: Mutation) -> str:
    if not mutation.is_whole:
        return "none was run"
    if mutation.judged:
        return "nothing can be changed, neither in the policy nor in right calls"
    without = "" if mutation.left_out else "without policy and expected calls "
    return f"{without}no right trajectory is known"


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
