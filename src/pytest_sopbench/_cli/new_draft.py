"""`sopbench new --model` and `--review`: a domain drafted with a model, and read by a person.

Before a model is asked a draft is said to cost so much, and at its end what it has cost.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import click

from pytest_sopbench._cli.app import (
    FAILS,
    known_mask,
    project,
    project_redaction,
    refuse,
    say,
    say_lines,
    tell,
)
from pytest_sopbench._cli.found_domains import domain_folders
from pytest_sopbench._cli.judge import project_prices
from pytest_sopbench._core.model.task import OutputField, Task
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.model.usage import Prices
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._drafting.baselines import Measured, measure
from pytest_sopbench._drafting.cards import CHOICES, Card
from pytest_sopbench._drafting.cases import TASKS
from pytest_sopbench._drafting.growing import grow, write_grown
from pytest_sopbench._drafting.reviewing import (
    LABEL,
    READER,
    Reviewing,
    checked,
    clause_text,
    follows_cards,
)
from pytest_sopbench._drafting.stages import (
    BRIEF,
    Draft,
    begun_complexity,
    drafted_rows,
    measured,
    open_cards,
)
from pytest_sopbench._loading.evidence import DRAFTING, REVIEW, draft_of, read_review
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._making.documents import read_procedure
from pytest_sopbench._making.place import Place, to_do_lines
from pytest_sopbench._reports.text import counted, labelled
from pytest_sopbench.errors import SopbenchError

PRESET = 3
"""The complexity that a draft has unless another is asked for."""


def is_draft(folder: Path) -> bool:
    """Whether a domain was begun here with a model."""
    return (folder / BRIEF).is_file()


def draft(  # noqa: PLR0913 - what the user gave
    place: Place,
    source: Path | None,
    sop: str | None,
    *,
    models: Sequence[str],
    complexity: int | None,
    asks: bool,
    dry_run: bool,
) -> None:
    """Draft a domain, or go on with one where it stood."""
    if not models:
        refuse("a draft needs a model", "give --model openai/MODEL")
    if len(models) > 2:  # noqa: PLR2004 - a writer and a solver
        refuse("--model is given more than twice", "the first writes, the second solves")
    brief, own = _texts(place.folder, source, sop)
    pair = models[0], models[-1]
    told = _estimate(brief, own, pair, project_prices())
    begun = "; what was asked before costs nothing" if is_draft(place.folder) else ""
    say_lines(labelled("estimate", f"{told}{begun}"))
    if dry_run or (asks and not click.confirm("Go on?", default=True)):
        return
    outline = place.folder / DRAFTING / "outline.json"
    go_on = f"Read {outline}, and edit it if you like. Go on?"
    made = Draft(
        name=place.name,
        folder=place.folder,
        models=pair,
        level=complexity or begun_complexity(place.folder) or PRESET,
        say=say,
        go_on=lambda: not asks or click.confirm(go_on, default=True),
        redaction=project_redaction(),
    )
    if not is_draft(place.folder):
        made.begin(brief, own)
    try:
        is_whole = made.run()
    except SopbenchError:
        _say_spent(made)
        raise
    _say_spent(made)
    if is_whole:
        _say_result(made, place)


def _texts(folder: Path, source: Path | None, sop: str | None) -> tuple[str, str | None]:
    """Return the brief, and the user's own procedure if there is one."""
    if is_draft(folder):
        if source is not None or sop is not None:
            tell(f"{folder} was begun already; its own brief and procedure are gone on with")
        return (folder / BRIEF).read_text("utf-8"), None
    if source is None:
        refuse("a draft needs a brief", "give --from BRIEF (.docx, .pdf, .html, .md, .txt)")
    if folder.exists():
        refuse(f"{folder}: is there already, and was not drafted", "take another name")
    own = read_procedure(Path(sop))[1] if sop is not None else None
    return read_procedure(source)[1], own


def _say_spent(made: Draft) -> None:
    recordings = made.recordings
    say("")
    told = f"{counted(recordings.asked, 'request')} asked, {recordings.kept} answered by recordings"
    say_lines(labelled("cost", told))
    for line in _spent_lines(recordings.spent(project_prices())):
        say(f"  {line}")


def _say_result(made: Draft, place: Place) -> None:
    say("")
    first, *others = measured(made)
    say_lines(labelled("measured", first))
    for line in others:
        say(f"  {line}")
    _say_measured(measure(made.folder))
    say_lines(to_do_lines(made.folder))
    say("")
    cards = open_cards(made.folder)
    say(f"draft: {draft_of(load_domain(made.folder)) or 'reviewed'}")
    say(f"{counted(len(cards), 'card')} to decide, {made.folder / DRAFTING / 'cards.json'}")
    say("go on with")
    say(f"  sopbench new {place.name} --review")
    say(f"  pytest --sop-domain={shlex.quote(place.domain)} --agent=PACKAGE.MODULE:AGENT")


# A domain that is there grows.


def grow_domain(
    name: str, place: Path, *, clause: str, count: int | None, has_model: bool, dry_run: bool
) -> None:
    """Add the rows that a clause lacks, or so many, or both; no model is asked."""
    folder = place if place.is_dir() else _own_domain(name)
    is_drafted = is_draft(folder)
    if has_model and not is_drafted:
        refuse(f"{folder} was not drafted, so no solver is asked", "leave out --model")
    grown = grow(folder, clause=clause, count=count)
    told = f"{counted(len(grown.ids), 'row')} {'would be added' if dry_run else 'added'}"
    ends = dict.fromkeys((*grown.ids[:1], *grown.ids[-1:]))
    ids = f", {' to '.join(ends)}" if ends else ""
    say(f"{told}{ids}; there are {grown.count}")
    mask = known_mask()
    for note in grown.notes:
        say(mask(f"  {note}"))
    if grown.cards:
        say(f"  {counted(len(grown.cards), 'new card')}: the policies differ, which makes no row")
    if dry_run:
        return
    if grown.ids or grown.cards:
        keep = drafted_rows(folder) if is_drafted else None
        write_grown(folder, grown, keep)
    if not has_model and grown.ids:
        say("go on with")
        if is_drafted:
            say(f"  sopbench new {name} --model ...    the solver answers the new rows")
        say(f"  sopbench new {name} --review")


def _own_domain(name: str) -> Path:
    """Return the folder of a domain of the project; what came with a package does not grow."""
    found = [one / name for one in project().folders("sop_paths") if (one / name).is_dir()]
    if not found:
        told = f"there is no domain {name!r} in the folders of sop_paths"
        refuse(told, "make one first: sopbench new")
    return found[0]


# A person reads: the procedure, the cards, thirty rows.


def review(name: str, place: Path) -> None:
    """Lead a person through a review, and keep it once nothing is open."""
    folder = place if place.is_dir() else next(iter(dict(domain_folders((name,)))))
    domain = load_domain(folder)
    held = read_review(folder)
    if held is not None and held.holds(folder):
        say(f"reviewed by {held.name}, {held.time}; no file has changed since")
        return
    _check(folder, has_policy=domain.policy_file is not None)
    left = held if held is not None and held.is_left(folder) else None
    reader = (
        left.name if left else click.prompt("Your name", default=os.environ.get("USER") or None)
    )
    going = Reviewing(domain=domain, name=str(reader))
    say("")
    if left is not None:
        rows = counted(len(left.rows), "row")
        say(f"the review of {reader} goes on: the procedure and {rows} read")
        say(f"another reader removes {folder / REVIEW} first")
    elif going.has_grown:
        new = len(domain.task_ids) - len(going.review.earlier)
        say(f"you have reviewed all but {counted(new, 'new row')}, and nothing else has changed")
        if not going.is_solved:
            say("the solver has not answered the new rows: only the policies and you see them")
    else:
        say(domain.sop)
    is_known = left is not None or going.has_grown
    if not (is_known or click.confirm("Is this what you mean, and can people follow it?")):
        _end(["the procedure is not what the reader means: edit sop.md, and draft again"])
    going.begin()
    before = going.cards
    _decide_cards(going)
    if follows_cards(going.cards, before):
        command = f"sopbench new {name} --model ..."
        _end([f"the decisions are kept; rows follow them with: {command}; then review again"])
    _read_rows(going)
    if points := going.open_points():
        _end(points)
    going.finish()
    say(f"{name}: reviewed by {reader}; it is void as soon as a file changes")


def _check(folder: Path, *, has_policy: bool) -> None:
    """Refuse what no reader should have to find: errors of the audit."""
    found, errors, survivors = checked(folder, has_policy=has_policy)
    say_lines((*found.facts, *survivors))
    held = measure(folder)
    _say_measured(held)
    points = [f"the audit has errors: {one}" for one in errors]
    if points := [*points, *held.unwritten]:
        _end(points)


def _say_measured(held: Measured) -> None:
    """Say what agents come to that do not follow the procedure; those above chance first."""
    for one in sorted(held.baselines, key=lambda one: one.is_near_chance):
        say(f"  {'' if one.is_near_chance else 'above chance: '}{one.told}")
    for line in held.unwritten:
        say(f"  {line}")
    if held.unknown:
        say(known_mask()(f"  tools and writes are not measured: {held.unknown}"))


def _decide_cards(going: Reviewing) -> None:
    cards = going.open_cards
    for number, card in enumerate(cards, 1):
        say("")
        say(f"card {number} of {len(cards)}: {_question(card)}")
        say(clause_text(going.domain.sop, card.clause) or "(no clause is named)")
        _say_values(card.inputs)
        for who, reading in card.readings.items():
            say(f"  {who}: {reading}")
        choices = click.Choice([*CHOICES[card.about], "skip"])
        decision = click.prompt("Who is right (text: the text is wrong)", type=choices)
        if decision != "skip":
            going.decide(card, decision)


def _question(card: Card) -> str:
    who = "the solver and the policy" if "solver" in card.readings else "the two policies"
    return f"{who} read clause {card.clause or '?'} differently ({counted(card.cases, 'case')})"


def _read_rows(going: Reviewing) -> None:
    rows = going.rows
    for number, task in enumerate(rows, 1):
        say("")
        say(f"row {number} of {len(rows)}: {task.id}")
        _say_values({**task.inputs, **task.results})
        said = {one.name: _answer(one) for one in going.domain.fields}
        if going.read(task, said, partial(_who, task)):
            say("  that is the label")


def _answer(field: OutputField) -> JsonValue:
    kind: Any = None
    match field.type.value:
        case "enum":
            kind = click.Choice(list(field.values), case_sensitive=False)
        case "boolean":
            kind = click.BOOL
        case "integer":
            kind = click.INT
        case "number":
            kind = click.FLOAT
        case _:
            kind = click.STRING
    return cast("JsonValue", click.prompt(field.name, type=kind))


def _who(task: Task) -> str:
    label = ", ".join(f"{name} {value}" for name, value in task.expected.items())
    say(f"  the label is: {label}")
    return str(click.prompt("Which is right", type=click.Choice([LABEL, READER])))


def _say_values(values: Mapping[str, JsonValue]) -> None:
    for name, value in values.items():
        say(f"  {name}: {'(no record)' if value is None else value}")


def _end(points: Sequence[str]) -> None:
    """End without a review; what was answered is kept."""
    say("")
    mask = known_mask()
    for one in points:
        say(mask(f"not reviewed: {one}"))
    sys.exit(FAILS)


# What a draft will cost, roughly, and what it has cost.

_LETTERS: Final = 4
"""Letters of a token, as a rule of thumb for English."""

_PROMPT: Final = 700
_WRITTEN: Final = {"1 outline": 1_200, "2 procedure": 2_500, "2 tools": 1_500}
_POLICY: Final = 1_200
_TURNS: Final = 3
_ANSWERED: Final = 120


def _estimate(brief: str, sop: str | None, models: tuple[str, str], prices: Prices | None) -> str:
    """Say what a whole draft is going to take; if no price is known, tokens alone."""
    told = len(brief) // _LETTERS
    procedure = _WRITTEN["2 procedure"] if sop is None else len(sop) // _LETTERS
    outline, tools = _WRITTEN["1 outline"], _WRITTEN["2 tools"]
    first = [(_PROMPT + told + (0 if sop is None else procedure), outline)]
    first += [] if sop is not None else [(_PROMPT + told + outline, procedure)]
    first += [(_PROMPT + outline + procedure, tools)]
    policy = (_PROMPT + procedure + tools, _POLICY)
    turn = (_PROMPT + procedure + tools // 2, _ANSWERED)
    asked = {0: [*first, policy], 1: [policy, *[turn] * (TASKS * _TURNS)]}
    tokens = [sum(one[at] for some in asked.values() for one in some) for at in (0, 1)]
    requests = sum(map(len, asked.values()))
    costs = [_cost(models[at], some, prices) for at, some in asked.items()]
    known = [one for one in costs if one is not None]
    money = f"about ${sum(known):.2f}" if len(known) == len(costs) else "price not known"
    return (
        f"about {requests} requests, {tokens[0]:,} tokens in and {tokens[1]:,} out, {money}; most"
        " of it is the solver"
    )


def _cost(model: str, asked: Sequence[tuple[int, int]], prices: Prices | None) -> float | None:
    if prices is None:
        return None
    given, written = (sum(one[at] for one in asked) for at in (0, 1))
    usage = Usage(input_tokens=given, output_tokens=written, model_calls=len(asked), model=model)
    return prices.cost(usage, "")


def _spent_lines(spent: Mapping[str, tuple[int, Usage]]) -> Iterator[str]:
    """Say what each stage has cost so far, refused and unusable replies included."""
    for stage, (requests, usage) in sorted(spent.items()):
        cost = "cost not known" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
        yield (
            f"{stage}: {requests} requests, {_count(usage.input_tokens)} tokens in and"
            f" {_count(usage.output_tokens)} out, {cost}"
        )


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"
