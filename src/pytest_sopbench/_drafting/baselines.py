"""What agents come to that do not follow the procedure: each is near chance, or is named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_sopbench._audit.policy_source import flat_columns, frozen
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._drafting.existing import rows_of, shape_of
from pytest_sopbench._drafting.policies import Ran, Texts, run_policy
from pytest_sopbench._drafting.shape import KEY, Row, Shape
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import SopbenchError

NEAR: Final = 0.15
"""How far above the most frequent label a baseline still counts as near chance."""

_FOLDS: Final = 5
_DEPTH: Final = 4
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """An agent that does not follow the procedure.

    Attributes:
        field: the output field.
        what: it does.
        share: of the rows that it has right.
        chance: the share of the most frequent label.
    """

    field: str
    what: str
    share: float
    chance: float

    @property
    def is_near_chance(self) -> bool:
        return self.share <= self.chance + NEAR

    @property
    def told(self) -> str:
        mark = "" if self.is_near_chance else f", and guessing {100 * self.chance:.0f} %"
        return f"{self.what} has {self.field} right on {100 * self.share:.0f} % of the rows{mark}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured of a domain.

    Attributes:
        baselines: what agents come to that do not follow the procedure.
        unwritten: for each tool that writes why nobody would notice that it is called wrongly.
        unknown: why tools were not measured; empty if they were.
    """

    baselines: Sequence[Baseline]
    unwritten: Sequence[str] = ()
    unknown: str = ""


def measure(folder: Path) -> Measured:
    """Measure the baselines of a domain, and whether its rows write with each tool that does.

    Raises:
        LoadingError: the domain cannot be read.
    """
    domain = load_domain(folder)
    if domain.document is not None:
        return Measured(baselines=(), unknown="answers are documents")
    try:
        shape = shape_of(domain)
        policy = (folder / "policy.py").read_text("utf-8-sig")
        texts = Texts(sop=domain.sop, shape=shape, folder=folder)
        runs = run_policy(texts, policy, rows_of(domain))
    except SopbenchError as fault:
        told = str(fault).partition("no rows can be added: ")[2] or str(fault)
        return Measured(baselines=baselines(domain, None, (), ""), unknown=told.splitlines()[0])
    found = baselines(domain, shape, runs, policy)
    return Measured(baselines=found, unwritten=[*writes_not_covered(domain, runs)])


def baselines(
    domain: Domain, shape: Shape | None, runs: Sequence[Ran], policy: str
) -> list[Baseline]:
    """Measure the most frequent label, a tree over the inputs, and each tool left out.

    Args:
        domain: what is measured.
        shape: its columns and tools; nothing if they are not known, so that no tool is.
        runs: what the policy does on its rows.
        policy: its source.
    """
    found = list[Baseline]()
    without = [*_without_tools(domain, shape, runs, policy)] if shape else []
    inputs = flat_columns([dict(one.inputs) for one in domain.tasks])
    for field in domain.fields:
        labels = [frozen(one.expected[field.name]) for one in domain.tasks]
        chance = max(Counter(labels).values(), default=0) / max(len(labels), 1)
        shares = {
            "the same label for every row": chance,
            "a tree over the inputs": right_by_tree(inputs, labels) / max(len(labels), 1),
        }
        for tool, answers in without:
            pairs = zip(answers, labels, strict=True)
            right = sum(frozen(one.get(field.name)) == label for one, label in pairs)
            shares[f"the policy without {tool}"] = right / max(len(labels), 1)
        found += (
            Baseline(field=field.name, what=what, share=share, chance=chance)
            for what, share in shares.items()
        )
    return found


def _without_tools(
    domain: Domain, shape: Shape, runs: Sequence[Ran], policy: str
) -> Iterator[tuple[str, Sequence[Mapping[str, JsonValue]]]]:
    """Run the policy with the most frequent answer of each tool it calls, whatever the row."""
    texts = Texts(sop=domain.sop, shape=shape, folder=domain.folder)
    rows = rows_of(domain)
    keys = {one.name for one in shape.columns if one.type == KEY}
    called = {name for one in runs for name, _ in one.calls}
    for tool in shape.tools:
        names = [name for name in tool.returns if name not in keys]
        if names and tool.name in called:
            usual = _usual(rows, names)
            ran = run_policy(texts, policy, [{**row, **usual} for row in rows])
            yield tool.name, [one.answer or {} for one in ran]


def _usual(rows: Sequence[Row], names: Sequence[str]) -> Row:
    """The answer that is as near to all as one can be: by column the most frequent value."""
    found: dict[str, JsonValue] = {}
    for name in names:
        values = [row.get(name) for row in rows if row.get(name) is not None]
        (text, _), *_ = Counter(map(frozen, values)).most_common(1) or [("null", 0)]
        found[name] = json.loads(text)
    return found


# A tree: it is grown on four fifths of the rows, and asked about the last one.


def right_by_tree(columns: Mapping[str, Sequence[JsonValue]], labels: Sequence[str]) -> int:
    """Return how many rows a decision tree has right that it has not been grown on."""
    questions = [one for name in columns for one in _questions(columns[name])]
    rows = range(len(labels))
    right = 0
    for fold in range(_FOLDS):
        seen = [at for at in rows if at % _FOLDS != fold]
        held = [at for at in rows if at % _FOLDS == fold]
        right += _right(questions, labels, seen, held, _DEPTH)
    return right


def _questions(cells: Sequence[JsonValue]) -> Iterator[frozenset[int]]:
    """Yield for each question about a column the rows of which the answer is yes."""
    texts = [frozen(one) for one in cells]
    sizes = Counter(texts)
    for text, size in sizes.items():
        if _FEWEST <= size < len(texts):
            yield frozenset(at for at, one in enumerate(texts) if one == text)
    numbers = {
        at: one
        for at, one in enumerate(cells)
        if isinstance(one, int | float) and not isinstance(one, bool)
    }
    for cut_off in sorted({*numbers.values()})[1:]:
        yield frozenset(at for at, one in numbers.items() if one >= cut_off)


def _right(
    questions: Sequence[Collection[int]],
    labels: Sequence[str],
    seen: Sequence[int],
    held: Sequence[int],
    depth: int,
) -> int:
    """Grow a tree on rows that are seen, and count those of the held ones that it has right."""
    if not held or not seen:
        return 0
    best, usual = None, Counter(labels[at] for at in seen).most_common(1)[0]
    most = usual[1]
    if depth and most < len(seen):
        for one in questions:
            yes = [at for at in seen if at in one]
            counts = Counter(labels[at] for at in yes), Counter(labels[at] for at in seen)
            counts[1].subtract(counts[0])
            if _FEWEST <= len(yes) <= len(seen) - _FEWEST:
                right = sum(max(some.values(), default=0) for some in counts)
                best, most = (one, right) if right > most else (best, most)
    if best is None:
        return sum(labels[at] == usual[0] for at in held)
    return sum(
        _right(
            questions,
            labels,
            [at for at in seen if (at in best) is side],
            [at for at in held if (at in best) is side],
            depth - 1,
        )
        for side in (True, False)
    )


def writes_not_covered(domain: Domain, runs: Sequence[Ran]) -> Iterator[str]:
    """Say of each tool that writes why nobody would notice a call of it that is wrong.

    Args:
        domain: whose tools they are.
        runs: what its policy does on its rows.
    """
    calls = Counter(name for one in runs for name in {name for name, _ in one.calls})
    for tool in domain.world_tools.values():
        if tool.action in {"look_up", "search"}:
            continue
        if not calls[tool.name]:
            yield f"no row writes with {tool.name}"
        elif domain.state is None or tool.table not in domain.state.columns:
            yield f"what {tool.name} writes is not judged: 'judged' of metadata.json lacks 'state'"
