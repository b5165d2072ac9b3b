"""Which answers people are asked to label: some of each field and verdict, drawn by a seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.fields.match import as_text
from pytest_sopbench._core.fields.typed import typed_value
from pytest_sopbench._core.model.task import Compare, OutputField
from pytest_sopbench._core.records.cutting import is_cut
from pytest_sopbench._core.records.record import RunRecord

from .labels import LabelledCase

_Verdict = tuple[LabelledCase, bool]


def judged_cases(records: Iterable[RunRecord], domains: Mapping[str, Domain]) -> Sequence[_Verdict]:
    """Return each answer that a judge held against the expected value, and what it decided.

    Equal answers stand once, since they have one judgement. What was cut is left out, since
    neither people nor the judge would see all of it.
    """
    found: dict[object, _Verdict] = {}
    for record in records:
        domain = domains.get(record.domain)
        fields = {one.name: one for one in domain.fields} if domain else {}
        for one in record.compared:
            field = fields.get(one.field)
            if field is None or field.compare is not Compare.JUDGE or one.place:
                continue
            case = _case(record, field)
            if case is not None and one.held is not None:
                content = (case.domain, case.field, case.expected, case.actual)
                found.setdefault(content, (case, one.held))
    return tuple(found.values())


def drawn(cases: Sequence[_Verdict], size: int, seed: int = 0) -> tuple[LabelledCase, ...]:
    """Draw so many cases, as evenly over fields and verdicts as they allow.

    A judge that nearly always says yes would else be held against yes alone. The same cases and
    seed give the same table, in an order that tells nothing of the verdicts.
    """
    groups: dict[tuple[str, str, bool], list[LabelledCase]] = {}
    for case, held in cases:
        groups.setdefault((case.domain, case.field, held), []).append(case)
    for group in groups.values():
        group.sort(key=lambda case: _lot(case, seed))
    chosen: list[LabelledCase] = []
    while len(chosen) < size and any(groups.values()):
        for name in sorted(groups):
            if groups[name] and len(chosen) < size:
                chosen.append(groups[name].pop(0))
    return tuple(sorted(chosen, key=lambda case: _lot(case, seed)))


def _case(record: RunRecord, field: OutputField) -> LabelledCase | None:
    actual = (record.answer or {}).get(field.name)
    expected = record.expected.get(field.name)
    if is_cut(actual) or is_cut(expected):
        return None
    return LabelledCase(
        domain=record.domain,
        field=field.name,
        expected=as_text(typed_value(field, expected)),
        actual=as_text(actual),
        run=(record.task, str(record.trial), record.agent),
    )


def _lot(case: LabelledCase, seed: int) -> str:
    content = (str(seed), case.domain, case.field, case.expected, case.actual)
    return sha256("\0".join(content).encode("utf-8", "backslashreplace")).hexdigest()
