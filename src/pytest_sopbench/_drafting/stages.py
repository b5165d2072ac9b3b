"""The stages of a draft: each writes files that a person can edit, and none is done twice.

`stages.json` holds for each stage a hash of what it read and of what it wrote. A stage is done
again if what it read has changed. A file that a person has edited since is never overwritten: it
stands for the model's, and the stages after it read it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pytest_sopbench._audit.observing.covering import conditions_of
from pytest_sopbench._audit.sop_text import SopText
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._drafting.asking import (
    Question,
    Recorded,
    Recordings,
    UnusableError,
    ask,
    document_in,
    json_in,
)
from pytest_sopbench._drafting.cards import (
    POLICIES,
    SOLVER,
    Card,
    Solved,
    chosen,
    keep_cards,
    policy_cards,
    read_cards,
    settled_pairs,
    solve,
    solver_cards,
)
from pytest_sopbench._drafting.cases import TASKS, Size, choose, messy_lines, try_out, weigh
from pytest_sopbench._drafting.existing import rows_of
from pytest_sopbench._drafting.policies import Ran, Texts, checked_policy, run_policy, write_policy
from pytest_sopbench._drafting.shape import Shape, read_shape
from pytest_sopbench._loading.evidence import DRAFTING
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench.agents.conversation import as_object
from pytest_sopbench.errors import LoadingError, SopbenchError

BRIEF: Final = f"{DRAFTING}/brief.md"
OUTLINE: Final = f"{DRAFTING}/outline.json"
SOP: Final = "sop.md"
TOOLS: Final = f"{DRAFTING}/tools.json"
POLICY_A: Final = f"{DRAFTING}/policy_a.py"
POLICY_B: Final = f"{DRAFTING}/policy_b.py"
POLICY: Final = "policy.py"
DATA: Final = "data.csv"
SPECS: Final = "toolspecs.json"
WORLD: Final = "world.json"
METADATA: Final = "metadata.json"
SOLVED: Final = f"{DRAFTING}/solver.json"
_BOOK: Final = f"{DRAFTING}/stages.json"
_SOLVER: Final = "5 solver"
_SOLVER_READS: Final = (SOP, SPECS, METADATA, POLICY, DATA)
_ROWS: Final = "rows"
"""The key of the book that says how many rows a domain has that has grown."""

_CASES: Final = "4 cases"
_LEVEL: Final = "complexity"
_DRAWN_MESSY: Final = 40
_MOST_MESSY: Final = 0.5
_FEWEST_CLAUSES: Final = 3
_TITLE: Final = 80


@dataclass(kw_only=True)
class Draft:
    """A domain that is being drafted, in its folder.

    Attributes:
        name: of the domain.
        folder: where its files are.
        models: who writes, and who solves and writes the second policy, which may be the same.
        level: the complexity, by which the outline is asked for more or less of everything.
        say: is told what happens.
        go_on: is asked after the outline whether to go on.
        redaction: takes secrets out of prompts and replies that are kept.
    """

    name: str
    folder: Path
    models: tuple[str, str]
    level: int
    say: Callable[[str], None]
    go_on: Callable[[], bool] = lambda: True
    redaction: Redaction = field(default_factory=Redaction)
    recordings: Recordings = field(init=False)
    _book: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        folder = self.folder / DRAFTING / "recordings"
        self.recordings = Recordings(folder=folder, redaction=self.redaction)
        self._book = _read_book(self.folder / _BOOK)

    def begin(self, brief: str, sop: str | None) -> None:
        """Keep what the draft is made of; a procedure of the user's own is kept as it is."""
        self._book[_LEVEL] = self.level
        if sop is not None:
            self._write(SOP, sop)
            self._book["own_sop"] = True
        self._keep_book()
        # By this file a draft is known, so it comes last.
        self._write(BRIEF, brief)

    @property
    def asked_for(self) -> Mapping[str, object]:
        """How much of everything an outline is asked for."""
        return {
            "complexity": self.level,
            "clauses": 4 + 3 * self.level,
            "conditions": 1 + 2 * self.level,
            "tools": 1 + self.level // 2,
            "distractors": self.level // 3,
            "exceptions": self.level // 2,
            "irregular": self.level,
            "noise": self.level // 2,
        }

    @property
    def messy_share(self) -> float:
        """The share of rows that are to have two irregularities or more that decide."""
        return min(self.level / 10, _MOST_MESSY)

    @property
    def has_own_sop(self) -> bool:
        return bool(self._book.get("own_sop"))

    def run(self) -> bool:
        """Do what is still to do; false if a person did not want to go on.

        Raises:
            SopbenchError: a stage came to nothing; what was done before is kept.
        """
        own = {"sop": SOP} if self.has_own_sop else {}
        reads = {"brief": BRIEF, **own}
        self._asked("1 outline", "outline", reads, OUTLINE, _read_outline, self.asked_for)
        if not self.go_on():
            return False
        if own:
            self.say("2 procedure: your own, as it is")
        else:
            reads = {"brief": BRIEF, "outline": OUTLINE}
            self._asked("2 procedure", "sop", reads, SOP, _read_sop)
        self._asked("2 tools", "tools", {"outline": OUTLINE, "sop": SOP}, TOOLS, _read_tools)
        texts = Texts(sop=self._text(SOP), shape=self.shape())
        self._policies(texts)
        self._cases(texts)
        self._solve()
        return True

    def shape(self) -> Shape:
        """Return the columns and tools of the draft.

        Raises:
            LoadingError: a person has edited them so that they do not fit.
        """
        try:
            return read_shape(json_in(self._text(TOOLS)))
        except UnusableError as fault:
            raise LoadingError(self.folder / TOOLS, str(fault)) from fault

    # The stages.

    def _asked(
        self,
        stage: str,
        prompt: str,
        reads: Mapping[str, str],
        file: str,
        read: Callable[[str], str],
        values: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Have the first model write a file from others, which the prompt knows by a name."""
        texts = {name: self._text(one) for name, one in reads.items()}
        question = Question(stage=stage, prompt=prompt, texts=texts, values=values, file=file)

        def make() -> Mapping[str, str]:
            return {file: ask(self.recordings, self.models[0], question, read)}

        self._stage(stage, [*reads.values()], make, [file])

    def _policies(self, texts: Texts) -> None:
        for which, file, model in (("a", POLICY_A, 0), ("b", POLICY_B, 1)):

            def make(which: str = which, file: str = file, model: int = model) -> Mapping[str, str]:
                return {
                    file: write_policy(
                        self.recordings,
                        self.models[model],
                        sop=texts.sop,
                        shape=texts.shape,
                        which=which,
                    )
                }

            self._stage(f"3 policy {which}", [SOP, TOOLS], make, [file])

    def _cases(self, texts: Texts) -> None:
        """Run both policies on generated rows, keep where they differ, and label the others."""
        cards = read_cards(self.folder / DRAFTING)
        # A reference policy that a person has edited takes the place of the first one.
        own = POLICY if self._is_edited(_CASES, POLICY) else POLICY_A
        decided = [one for one in cards if one.about == POLICIES and one.decision]
        decisions = json.dumps(sorted([one.key, one.decision] for one in decided))

        def make() -> Mapping[str, str]:
            sources = self._policy(own, texts.shape), self._policy(POLICY_B, texts.shape)
            return self._made_cases(texts, sources, fixed="a" if own == POLICY else "")

        reads = [SOP, TOOLS, own, POLICY_B]
        writes = [SPECS, POLICY, DATA, *((WORLD,) if texts.shape.writers else ()), METADATA]
        self._stage(_CASES, reads, make, writes, also=decisions)

    def _made_cases(
        self, texts: Texts, sources: tuple[str, str], *, fixed: str
    ) -> Mapping[str, str]:
        tried = try_out(texts, sources, messy=_DRAWN_MESSY * self.level)
        found = policy_cards(tried.rows, tried.a, tried.b, sources)
        cards = keep_cards(self.folder / DRAFTING, POLICIES, found)
        which = fixed or chosen(cards)
        source = sources[0] if which == "a" else sources[1]
        settled = settled_pairs(cards, which)

        def is_usable(at: int) -> bool:
            pair = tried.a[at].against(tried.b[at])
            return pair[0] == pair[1] or pair in settled

        # A domain that has grown is not made smaller again.
        count = int(self._book.get(_ROWS, TASKS))
        size = Size(rows=count, messy=round(self.messy_share * count))
        rows, notes = choose(texts, tried, source, is_usable, which=which, size=size)
        if not rows:
            msg = "the two policies agree on no case, so there is nothing to label"
            raise SopbenchError(msg, hint=f"read {DRAFTING}/cards.json, and correct {SOP}")
        for note in notes:
            self.say(f"  {note}")
        differ = sum(one.cases for one in found)
        self.say(f"  {len(tried.rows)} cases generated; the policies differ on {differ}")
        return {
            SPECS: texts.shape.tool_specs(),
            WORLD: texts.shape.world(),
            METADATA: texts.shape.metadata(self.name, self._title(), ""),
            POLICY: source,
            DATA: texts.shape.data(rows),
        }

    def _solve(self) -> None:
        def make() -> Mapping[str, str]:
            client = Recorded(recordings=self.recordings, model=self.models[1], stage=_SOLVER)
            domain = load_domain(self.folder)
            solved = solve(domain, client, self._runs(domain), self._solved())
            return {SOLVED: json.dumps([asdict(one) for one in solved], indent=1) + "\n"}

        self._stage(_SOLVER, _SOLVER_READS, make, [SOLVED])
        domain = load_domain(self.folder)
        solved = self._solved()
        agreeing = sum(one.agrees for one in solved)
        self.say(f"  the solver agrees with {agreeing} of {len(solved)} labels")
        # Where a label follows from is asked of the policy once more, if anybody asks.
        lines: Mapping[str, frozenset[int]] = {}
        if agreeing < len(solved):
            lines = {name: one.lines for name, one in self._runs(domain).items()}
        found = solver_cards(domain, solved, self._text(POLICY), lines)
        keep_cards(self.folder / DRAFTING, SOLVER, found)

    def _solved(self) -> list[Solved]:
        """Return what was solved so far; nothing of a file that cannot be read as such."""
        try:
            return [Solved(**one) for one in json.loads(self._text(SOLVED))]
        except (LoadingError, ValueError, TypeError):
            return []

    def _runs(self, domain: Domain) -> Mapping[str, Ran]:
        """Return what the policy does on each task."""
        texts = Texts(sop=domain.sop, shape=self.shape(), folder=self.folder)
        ran = run_policy(texts, self._text(POLICY), rows_of(domain))
        return dict(zip(domain.task_ids, ran, strict=True))

    # What was done before, and by whom.

    def _stage(
        self,
        name: str,
        reads: Sequence[str],
        make: Callable[[], Mapping[str, str]],
        writes: Sequence[str],
        *,
        also: str = "",
    ) -> None:
        """Do a stage unless it was done on the same texts; edited files stay as they are."""
        read = _hash("\0".join([also, *map(self._text, reads)]))
        before = self._book.get(name, {})
        edited = [file for file in writes if self._is_edited(name, file)]
        is_whole = all((self.folder / file).is_file() for file in writes)
        if is_whole and (before.get("read") == read or edited == [*writes]):
            kept = f" ({', '.join(edited)} as edited)" if edited else ""
            self.say(f"{name}: done before{kept}")
            return
        self.say(f"{name}: ...")
        made = make()
        wrote: dict[str, str] = dict(before.get("wrote", {}))
        for file in edited:
            self.say(f"  {file} was edited, and is kept as it is")
        own = [file for file in writes if file not in edited]
        # Told before, so that files of a run that is killed here do not pass for a person's.
        wrote |= {file: _hash(made[file]) for file in own}
        self._book[name] = {"wrote": wrote}
        self._keep_book()
        for file in own:
            self._write(file, made[file])
        self._book[name] = {"read": read, "wrote": wrote}
        self._keep_book()

    def _is_edited(self, stage: str, file: str) -> bool:
        """Whether a file is there that this stage has not written so."""
        told = self._book.get(stage, {})
        wrote = {told.get("wrote", {}).get(file), told.get("next", {}).get(file)}
        return (self.folder / file).is_file() and _hash(self._text(file)) not in wrote

    def keep_rows(self, data: str, count: int) -> None:
        """Write the rows of a domain that has grown; they stay a draft's own unless they were not.

        Told before and after, so that rows of a run that is killed between do not pass for a
        person's.
        """
        stage = self._book.setdefault(_CASES, {})
        is_own = not self._is_edited(_CASES, DATA)
        self._book[_ROWS] = count
        if is_own:
            stage["next"] = {DATA: _hash(data)}
        self._keep_book()
        self._write(DATA, data)
        if is_own:
            stage["wrote"] = {**stage.get("wrote", {}), **stage.pop("next")}
            self._keep_book()

    def _policy(self, file: str, shape: Shape) -> str:
        try:
            return checked_policy(self._text(file), shape)
        except UnusableError as fault:
            raise LoadingError(self.folder / file, str(fault)) from fault

    def _title(self) -> str:
        try:
            return str(json.loads(self._text(OUTLINE))["title"])[:_TITLE]
        except (ValueError, KeyError, TypeError):
            return self.name

    def _text(self, file: str) -> str:
        try:
            return (self.folder / file).read_text("utf-8")
        except (OSError, ValueError) as fault:
            raise LoadingError(self.folder / file, f"it cannot be read: {fault}") from fault

    def _write(self, file: str, text: str) -> None:
        with replace_file(self.folder / file) as stream:
            stream.write(text.encode("utf-8"))

    def _keep_book(self) -> None:
        self._write(_BOOK, json.dumps(self._book, indent=1) + "\n")


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def is_solved(folder: Path) -> bool:
    """Whether the solver has answered every row, with the files as they are; of a draft alone.

    A run of the model that was cut short leaves rows that only the policies have looked at.
    """
    try:
        texts = [(folder / file).read_text("utf-8") for file in _SOLVER_READS]
    except (OSError, ValueError):
        return False
    read: object = _read_book(folder / _BOOK).get(_SOLVER, {}).get("read")
    return read == _hash("\0".join(["", *texts]))


def _read_book(path: Path) -> dict[str, Any]:
    try:
        return dict(as_object(json.loads(path.read_text("utf-8"))) or {})
    except (OSError, ValueError):
        # Then nothing was done, and what lies there counts as written by a person.
        return {}


# What a reply of the first stages has to have.


def _read_outline(text: str) -> str:
    found = json_in(text)
    if missing := [name for name in ("title", "clauses", "outputs", "tools") if name not in found]:
        msg = f"it lacks {', '.join(missing)}"
        raise UnusableError(msg)
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _read_sop(text: str) -> str:
    found = document_in(text)
    numbered = [one for one in SopText(found).clauses if "." in one.number]
    if len(numbered) < _FEWEST_CLAUSES:
        msg = f"it has {len(numbered)} numbered clauses, so nothing can be cited from it"
        raise UnusableError(msg)
    return found


def _read_tools(text: str) -> str:
    found = json_in(text)
    read_shape(found)
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def begun_complexity(folder: Path) -> int | None:
    """Return the complexity with which a draft was begun; nothing if there is none."""
    level = _read_book(folder / _BOOK).get(_LEVEL)
    return level if isinstance(level, int) else None


def drafted_rows(folder: Path) -> Callable[[str, int], None]:
    """Return what writes the rows of a draft that has grown."""
    draft = Draft(name=folder.name, folder=folder, models=("", ""), level=1, say=lambda _: None)
    return draft.keep_rows


# What the result has of everything that was asked for.


def measured(draft: Draft) -> Iterator[str]:
    """Say how complex the draft came out, beside what was asked for."""
    folder, shape, asked = draft.folder, draft.shape(), draft.asked_for
    clauses = [one for one in SopText((folder / SOP).read_text("utf-8")).clauses if one.number]
    policy = (folder / POLICY).read_text("utf-8")
    got = {
        "clauses": sum("." in one.number for one in clauses),
        "conditions": len(conditions_of(policy)),
        "tools": len(shape.tools) - len(shape.distractors),
        "distractors": len(shape.distractors),
        "irregular": sum(len(one.odd) for one in shape.columns),
    }
    yield ", ".join(f"{count} {name} of about {asked[name]}" for name, count in got.items())
    domain = load_domain(folder)
    texts = Texts(sop=domain.sop, shape=shape, folder=folder)
    weighed = weigh(texts, policy, rows_of(domain))
    yield from messy_lines(shape, weighed, draft.messy_share)


def open_cards(folder: Path) -> Sequence[Card]:
    """Return the cards that nobody has decided."""
    return [one for one in read_cards(folder / DRAFTING) if not one.decision]
