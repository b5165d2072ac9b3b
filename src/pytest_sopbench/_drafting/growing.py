"""Add rows to a domain that is there: labels by execution, and what is there stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pytest_sopbench._audit.observing.changes import cited_clauses
from pytest_sopbench._audit.observing.covering import conditions_of
from pytest_sopbench._audit.observing.mutants import Mutation
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._drafting.cards import (
    Card,
    add_cards,
    policy_cards,
    read_cards,
    settled_pairs,
)
from pytest_sopbench._drafting.cases import (
    Goal,
    Size,
    Tried,
    goals_of,
    label_of,
    noticing,
    pick,
    run_both,
    thinned,
    try_out,
    unreached_lines,
)
from pytest_sopbench._drafting.existing import (
    Part,
    header_of,
    last_number,
    part_of,
    rows_of,
    shape_of,
)
from pytest_sopbench._drafting.policies import (
    EXPECTED_CALLS,
    Ran,
    Texts,
    call_lines,
    copy_files,
    mutants,
    run_policy,
)
from pytest_sopbench._drafting.shape import ID, KEY, Row
from pytest_sopbench._drafting.worlds import Worlds, content_of, key_of
from pytest_sopbench._loading.evidence import DRAFTING
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench.errors import SopbenchError

_NEAR: Final = 6
_AROUND: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """What is to be added to a domain.

    Attributes:
        data: the whole data file, old rows first.
        expected_calls: the whole file of them; nothing if the domain has none.
        ids: of the new rows.
        count: of all rows.
        cards: on which cases two policies differ that nobody has been asked about.
        notes: what is worth knowing.
    """

    data: bytes
    expected_calls: bytes | None
    ids: tuple[str, ...]
    count: int
    cards: tuple[Card, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(kw_only=True)
class _Growing:
    domain: Domain
    texts: Texts
    sources: tuple[str, str]
    which: str
    part: Part | None

    @property
    def source(self) -> str:
        return self.sources[self.which == "b"]

    def runs(self, tried: Tried) -> Sequence[Ran]:
        return tried.b if self.which == "b" else tried.a


def grow(folder: Path, *, clause: str, count: int | None) -> Grown:
    """Find rows to be added: those that a clause lacks, or so many, or both.

    Raises:
        SopbenchError: no row can be added whose label would prove anything, or no comment of the
            policy names the clause.
        LoadingError: the domain cannot be read.
    """
    domain = load_domain(folder)
    going = _begun(domain, clause)
    known = rows_of(domain)
    tried = _tried(going, known)
    new = range(len(known), len(tried.rows))
    cards = _cards(going, tried, new) if _is_draft(domain) else ()
    pool, mutation, places = _pool(going, tried, known)
    runs = going.runs(tried)
    goals = [
        _wanted({*goals_of(runs[at], going.texts), *noticing(mutation, place)}, going, mutation)
        for place, at in enumerate(places)
    ]
    old = len(known)
    picked = pick(
        goals[old:],
        [label_of(runs[at]) for at in pool],
        Size(rows=count or 0, is_limit=count is not None),
        known=goals[:old],
    )
    chosen = [tried.rows[pool[at]] for at in picked]
    answers = [runs[pool[at]].answer or {} for at in picked]
    rows = [{**row, **answer} for row, answer in zip(_named(going, chosen), answers, strict=True)]
    notes = [*_still_open(going, [runs[at] for at in (*range(old), *(pool[at] for at in picked))])]
    if count is not None and len(rows) < count:
        notes.append(f"{len(rows)} rows were found that differ from the others, and {count} wanted")
    if failing := [one for one in (runs[at] for at in new) if one.answer is None]:
        told = f"the policy fails on {len(failing)} of {len(new)} cases that were tried"
        notes.append(f"{told}, which become no rows: {failing[0].error}")
    known_names = {*domain.input_columns, *(one.name for one in going.texts.shape.columns)}
    empty = {*header_of(domain)[1]} - known_names - {*going.texts.shape.output_names}
    if rows and (blank := empty - {going.texts.shape.id_column}):
        notes.append(f"new rows have nothing in {', '.join(sorted(blank))}")
    return _proved(going, rows, cards=cards, notes=notes)


def _is_draft(domain: Domain) -> bool:
    return (domain.folder / DRAFTING).is_dir()


def _begun(domain: Domain, clause: str) -> _Growing:
    shape = shape_of(domain)
    policy = _read(domain.folder / "policy.py")
    sources, which = (policy, policy), "a"
    if _is_draft(domain):
        a, b = (_read(domain.folder / DRAFTING / f"policy_{one}.py") for one in "ab")
        which = "b" if policy == b and policy != a else "a"
        sources = (a, b) if which == "b" else (policy, b)
    texts = Texts(sop=domain.sop, shape=shape, folder=domain.folder)
    part = _part(domain, policy, clause) if clause else None
    return _Growing(domain=domain, texts=texts, sources=sources, which=which, part=part)


def _part(domain: Domain, policy: str, clause: str) -> Part:
    cited = cited_clauses(policy)
    number = clause.lower().removeprefix("clause").strip()
    part = part_of(policy, number, cited)
    if not part.conditions and not part.lines:
        named = ", ".join(sorted({name for names in cited.values() for name in names}))
        msg = f"{domain.folder}: no comment of policy.py names clause {number}"
        raise SopbenchError(msg, hint=f"it names {named or 'none'}")
    return part


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as fault:
        msg = f"{path}: it cannot be read: {fault.strerror}"
        raise SopbenchError(msg, hint="draft the domain to its end first") from fault


def _tried(going: _Growing, known: Sequence[Row]) -> Tried:
    bases = () if _is_draft(going.domain) else known
    # Another number of rows is another seed, so that growing twice finds other rows.
    worlds = Worlds(going.texts.shape, going.sources, seed=len(known), bases=bases)
    tried = try_out(going.texts, going.sources, worlds, known)
    if going.part is None:
        return tried
    runs = going.runs(tried)
    there = [at for at, one in enumerate(runs) if _comes_to(one, going.part)]
    rows = [row for at in there[:_AROUND] for row in worlds.near(tried.rows[at], _NEAR)]
    rows += [row for at in there[:2] for row in worlds.around(tried.rows[at])]
    return tried + run_both(going.texts, going.sources, rows) if rows else tried


def _comes_to(ran: Ran, part: Part) -> bool:
    return not part.conditions.isdisjoint(ran.sides) or not part.lines.isdisjoint(ran.lines)


def _cards(going: _Growing, tried: Tried, new: range) -> tuple[Card, ...]:
    """Return the differences of two policies on new cases that nobody has been asked about."""
    known = {one.key for one in read_cards(going.domain.folder / DRAFTING)}
    at = slice(new.start, new.stop)
    found = policy_cards(tried.rows[at], tried.a[at], tried.b[at], going.sources)
    return tuple(one for one in found if one.key not in known)


def _pool(
    going: _Growing, tried: Tried, known: Sequence[Row]
) -> tuple[list[int], Mutation, list[int]]:
    """Return the rows that may be added, and what mutants say of those there and of them.

    A row that differs from another one in its keys alone is the same case once more.
    """
    runs, shape = going.runs(tried), going.texts.shape
    settled = settled_pairs(read_cards(going.domain.folder / DRAFTING), going.which)
    seen = {content_of(shape, row) for row in known}
    places = list[int]()
    for at in range(len(known), len(tried.rows)):
        pair = tried.a[at].against(tried.b[at])
        content = content_of(shape, tried.rows[at])
        is_sure = runs[at].answer is not None and (pair[0] == pair[1] or pair in settled)
        is_asked = going.part is None or _comes_to(runs[at], going.part)
        if is_sure and is_asked and content not in seen:
            seen.add(content)
            places.append(at)
    pool = thinned(runs, places)
    every = [*range(len(known)), *pool]
    labelled = [{**tried.rows[at], **(runs[at].answer or {})} for at in every]
    calls = {str(tried.rows[at][ID]): runs[at].calls for at in every}
    return pool, mutants(replace(going.texts, calls=calls), going.source, labelled), every


def _wanted(goals: Collection[Goal], going: _Growing, mutation: Mutation) -> Collection[Goal]:
    """Keep of what a row is good for what the clause asks for, if one is named."""
    part = going.part
    if part is None:
        return goals
    found = set[Goal]()
    for goal in goals:
        kind, number, *_ = goal
        if kind == "side" and number in part.conditions:
            found.add(goal)
        if kind == "mutant" and isinstance(number, int):
            found |= {goal} if mutation.mutants[number].line in part.lines else set()
    return found


def _named(going: _Growing, rows: Sequence[Row]) -> list[Row]:
    """Give rows ids and keys that go on where those of the domain end."""
    ids = last_number(going.domain.task_ids)
    if ids is None:
        msg = f"{going.domain.folder}: no rows can be added: its ids do not end in a number"
        raise SopbenchError(msg, hint="write such rows by hand")
    prefix, last, width = ids
    keys = [one for one in going.texts.shape.columns if one.type == KEY]
    return [
        {
            **row,
            **{one.name: key_of(one, at) for one in keys if row.get(one.name) is not None},
            ID: f"{prefix}{last + at:0{width}}",
        }
        for at, row in enumerate(rows, 1)
    ]


def _still_open(going: _Growing, runs: Sequence[Ran]) -> Sequence[str]:
    """Say of the clause which sides of its conditions no row lies on; some no row can."""
    if going.part is None:
        return ()
    conditions = conditions_of(going.source)
    lines = {conditions[number].line for number in going.part.conditions}
    told = unreached_lines(runs, going.source)
    return [one for one in told if any(f", line {line})" in one for line in lines)]


def _proved(
    going: _Growing, rows: Sequence[Row], *, cards: tuple[Card, ...], notes: Sequence[str]
) -> Grown:
    """Lay the domain out as it would be, run the policy on it, and hold the new labels against it.

    Raises:
        SopbenchError: a new row is read otherwise than it was tried.
    """
    domain, shape = going.domain, going.texts.shape
    before = domain.data_file.read_bytes()
    ending = "\r\n" if b"\r\n" in before.split(b"\n", 1)[0] + b"\n" else "\n"
    lead = b"" if before.endswith(b"\n") else ending.encode()
    added = shape.lines(rows, header_of(domain)[1], ending).encode()
    grown = Grown(
        data=before + (lead + added if rows else b""),
        expected_calls=None,
        ids=tuple(str(row[ID]) for row in rows),
        count=len(domain.task_ids) + len(rows),
        cards=cards,
        notes=tuple(notes),
    )
    if not rows:
        return grown
    with TemporaryDirectory(prefix="sopbench-grow-") as name:
        folder = Path(name) / domain.name
        folder.mkdir()
        copy_files(domain.folder, folder)
        (folder / "policy.py").write_text(going.source, "utf-8")
        (folder / "data.csv").write_bytes(grown.data)
        if (domain.folder / EXPECTED_CALLS).is_file():
            names = dict.fromkeys((*domain.task_ids, *grown.ids), ())
            (folder / EXPECTED_CALLS).write_text(call_lines(names), "utf-8")
        whole = load_domain(folder)
        read = rows_of(whole)
        texts = replace(going.texts, folder=folder)
        ran = run_policy(texts, going.source, read)[-len(rows) :]
    columns = [ID, *(one.name for one in shape.columns)]
    for row, found, one in zip(rows, read[-len(rows) :], ran, strict=True):
        wanted = {name: row.get(name) for name in columns}
        answer = {name: row[name] for name in shape.output_names}
        if {name: found.get(name) for name in columns} != wanted or one.answer != answer:
            msg = f"{domain.folder}: no rows can be added: {row[ID]} is read otherwise than tried"
            raise SopbenchError(msg, hint="write such rows by hand")
    return replace(grown, expected_calls=_calls(domain, grown.ids, ran))


def _calls(domain: Domain, ids: Sequence[str], runs: Sequence[Ran]) -> bytes | None:
    """Return the file of expected calls with those that the policy makes on new rows."""
    path = domain.folder / EXPECTED_CALLS
    if not path.is_file():
        return None
    before = path.read_bytes()
    lead = b"" if before.endswith(b"\n") or not before else b"\n"
    calls = {name: one.calls for name, one in zip(ids, runs, strict=True)}
    return before + lead + call_lines(calls).encode()


def write_grown(folder: Path, grown: Grown, keep: Callable[[str, int], None] | None) -> None:
    """Write what was found; the rows last, since they are what counts.

    Args:
        folder: of the domain.
        grown: what was found.
        keep: how the rows of a draft are written, which knows which files people have edited.
    """
    if grown.cards:
        add_cards(folder / DRAFTING, grown.cards)
    files: dict[str, bytes | None] = {EXPECTED_CALLS: grown.expected_calls}
    if keep is None:
        files["data.csv"] = grown.data
    for name, content in files.items():
        if content is not None:
            with replace_file(folder / name) as file:
                file.write(content)
    if keep is not None:
        keep(grown.data.decode(), grown.count)
