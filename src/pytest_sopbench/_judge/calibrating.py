"""A judge, held against people's labels."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final, NoReturn

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.fields.comparison import as_text
from pytest_sopbench._core.fields.kinds import typed_value
from pytest_sopbench._core.gates.calibration import OTHER_JUDGE, Calibration, doubt_of, shown_kappa
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.model.task import Compare, OutputField
from pytest_sopbench._core.records.record import RunRecord, is_cut
from pytest_sopbench._core.statistics import agreement_of
from pytest_sopbench._core.values.text import fold
from pytest_sopbench._loading.files import did_you_mean, listed, shown
from pytest_sopbench._loading.tables import Table, read_table
from pytest_sopbench._reports.text import agreement_words, consumed_words, packed
from pytest_sopbench._running.comparing import PATIENCE, waited_for
from pytest_sopbench._running.event_loop import in_thread
from pytest_sopbench._running.observing import message_of, name_of
from pytest_sopbench._sessions.atomic import add_file
from pytest_sopbench.errors import JudgeError, LoadingError, RowError, SopbenchError

from .asking import Judgement, Question
from .judge import ModelJudge, fingerprint_of
from .keeping import Consumption

# The table that people label: one row for each answer, and whether it is right.

LABEL: Final = "label"
NEEDED: Final = ("domain", "field", "expected", "actual", LABEL)
COLUMNS: Final = ("domain", "task", "trial", "agent", "field", "expected", "actual", LABEL)
"""Of a table that is made here; one of a user's own may lack those that are not needed."""

YES: Final = frozenset({"yes", "y", "true", "1", "right", "held", "correct"})
NO: Final = frozenset({"no", "n", "false", "0", "wrong", "not held", "incorrect"})

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""How a cell begins that a spreadsheet would compute, or that was defused already."""

_DEFUSED: Final = re.compile(r"'+[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledCase:
    """One answer to one field, and what people say of it.

    Attributes:
        domain: the domain.
        field: the output field.
        expected: the expected value, as text.
        actual: the value that the agent gave, as text.
        label: whether people call it right; `None` if they have not said yet.
        run: the task with its trial and agent, for people; may be empty.
        line: the line of the table.
    """

    domain: str
    field: str
    expected: str
    actual: str
    label: bool | None = None
    run: tuple[str, str, str] = ("", "", "")
    line: int = 0

    @property
    def name(self) -> str:
        """What it is called in a list: the task with its trial and agent, else its line."""
        task, trial, agent = self.run
        told = f"{task}/t{trial}" if trial not in {"", "1"} else task
        return f"row {self.line}{f', {told}' if told else ''}{f' ({agent})' if agent else ''}"


def defused(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def as_it_was(cell: str) -> str:
    """Return what was defused."""
    return cell[1:] if _DEFUSED.match(cell) else cell


def read_labels(path: Path) -> tuple[LabelledCase, ...]:
    """Read a table of labels; a row without a label has none yet.

    Raises:
        LoadingError: the file cannot be read, or lacks a column.
        RowError: a label means nothing, or the same answer of a run stands twice.
    """
    table = read_table(path)
    places = _places(table)
    cases: list[LabelledCase] = []
    lines: dict[object, int] = {}
    for line, row in zip(table.lines, table.rows, strict=True):
        cells = {
            name: as_it_was(str("" if row[place] is None else row[place]))
            for name, place in places.items()
        }
        case = _case(path, line, cells)
        first = lines.setdefault((case.domain, case.field, case.expected, case.actual), line)
        if first != line:
            raise RowError(
                path,
                f"the same field, expected value and answer as in row {first}",
                row=line,
                hint="label each answer once, and remove one of the rows",
            )
        cases.append(case)
    if all(case.label is None for case in cases):
        hint = "write yes or no into the column: is this answer right by the rubric?"
        raise LoadingError(path, "no row has a label", column=LABEL, hint=hint)
    return tuple(cases)


def write_cases(path: Path, cases: Sequence[LabelledCase]) -> None:
    """Write a table for people to label, whose column `label` is empty.

    Raises:
        JudgeError: the file is there already, with what people may have written; or the disk does
            not take it.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for case in cases:
        cells = (case.domain, *case.run, case.field, case.expected, case.actual)
        writer.writerow([*map(defused, cells), ""])
    try:
        with add_file(path) as file:
            # With its mark, by which spreadsheets know UTF-8.
            file.write(text.getvalue().encode("utf-8-sig", "backslashreplace"))
    except FileExistsError:
        msg = f"{path}: the file is there already, and may hold labels"
        raise JudgeError(msg, hint="name another one: --out PATH") from None
    except OSError as fault:
        msg = f"{path}: cannot be written: {fault.strerror or fault}"
        raise JudgeError(msg, hint="name another file: --out PATH") from None


def _places(table: Table) -> Mapping[str, int]:
    found = {fold(name): place for place, name in reversed([*enumerate(table.columns)])}
    for name in NEEDED:
        if name not in found:
            _refuse_columns(table.path, name, table.columns)
    return {name: found[name] for name in COLUMNS if name in found}


def _refuse_columns(path: Path, name: str, columns: Collection[str]) -> NoReturn:
    if len(columns) == 1 and any(sign in next(iter(columns)) for sign in ";\t"):
        hint = "its cells are parted by other signs; save it as CSV with commas"
    else:
        near = did_you_mean(name, columns)
        hint = near or f"it has {listed(columns)}; sopbench judge sample writes such a table"
    raise LoadingError(path, f"the column {name!r} is missing", row=1, hint=hint)


def _case(path: Path, line: int, cells: Mapping[str, str]) -> LabelledCase:
    for name in ("domain", "field"):
        if not cells[name].strip():
            raise RowError(path, "empty", row=line, column=name, hint=f"name the {name}")
    return LabelledCase(
        domain=cells["domain"].strip(),
        field=cells["field"].strip(),
        expected=cells["expected"],
        actual=cells["actual"],
        label=_label(path, line, cells[LABEL]),
        run=(cells.get("task", ""), cells.get("trial", ""), cells.get("agent", "")),
        line=line,
    )


def _label(path: Path, line: int, cell: str) -> bool | None:
    word = fold(cell)
    if word in YES or word in NO:
        return word in YES
    if not word:
        return None
    raise RowError(
        path,
        f"{shown(cell)} is no label",
        row=line,
        column=LABEL,
        hint="write yes or no, or leave it empty if you cannot say",
    )


# Hold a judge against labels: what both said of each case, field by field.

_TOLD = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """A labelled case, and what the judge says of it; `why` if it gave no judgement."""

    case: LabelledCase
    judgement: Judgement | None = None
    why: str = ""

    @property
    def is_disputed(self) -> bool:
        return self.judgement is not None and self.judgement.held is not self.case.label


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCheck:
    """What came of the cases of one field.

    Attributes:
        domain: the domain.
        field: the output field.
        fingerprint: of the judge and its rubric.
        model: the judge.
        cases: those with a label.
        unlabelled: how many had none.
    """

    domain: Domain
    field: str
    fingerprint: str
    model: str
    cases: tuple[JudgedCase, ...]
    unlabelled: int = 0

    @property
    def not_judged(self) -> tuple[JudgedCase, ...]:
        return tuple(one for one in self.cases if one.judgement is None)

    @property
    def disputed(self) -> tuple[JudgedCase, ...]:
        return tuple(one for one in self.cases if one.is_disputed)

    @property
    def calibration(self) -> Calibration:
        """What is kept; cases without a judgement are no part of it."""
        pairs = (
            (one.judgement.held, bool(one.case.label))
            for one in self.cases
            if one.judgement is not None
        )
        return Calibration(
            fingerprint=self.fingerprint,
            agreement=agreement_of(pairs),
            model=self.model,
            disputed=tuple(one.case.name for one in self.disputed),
        )


def check_labels(
    cases: Sequence[LabelledCase],
    domains: Mapping[str, Domain],
    judge: ModelJudge,
    *,
    in_flight: int,
    seconds: float | None = PATIENCE,
) -> tuple[FieldCheck, ...]:
    """Ask the judge about each labelled case, so many at a time, each for so many seconds.

    Raises:
        JudgeError: a case is of a field that no judge compares.
    """
    rubrics = {(one.domain, one.field): _rubric(one, domains) for one in cases}
    labelled = [one for one in cases if one.label is not None]
    context = copy_context()

    def judged_here(case: LabelledCase) -> JudgedCase:
        # What is masked here is masked in the threads of the pool as well.
        return context.copy().run(_judged, judge, rubrics, case, seconds)

    with ThreadPoolExecutor(in_flight) as pool:
        judged = [*pool.map(judged_here, labelled)]
    return tuple(
        FieldCheck(
            domain=domains[domain],
            field=field,
            fingerprint=fingerprint_of(judge.setting, rubric),
            model=judge.setting.model,
            cases=tuple(one for one in judged if _is_of(one.case, domain, field)),
            unlabelled=sum(one.label is None and _is_of(one, domain, field) for one in cases),
        )
        for (domain, field), rubric in rubrics.items()
    )


def _is_of(case: LabelledCase, domain: str, field: str) -> bool:
    return (case.domain, case.field) == (domain, field)


def _rubric(case: LabelledCase, domains: Mapping[str, Domain]) -> str:
    domain = domains.get(case.domain)
    if domain is None:
        msg = f"row {case.line}, column 'domain': the domain {case.domain!r} is not found"
        raise JudgeError(msg, hint="say where it is: --domain PATH")
    judged = {one.name: one.rubric for one in domain.fields if one.compare is Compare.JUDGE}
    if case.field not in judged:
        msg = f"row {case.line}, column 'field': no judge compares {case.field!r}"
        named = ", ".join(judged) or "none"
        raise JudgeError(msg, hint=f"fields of {case.domain} that a judge compares: {named}")
    return judged[case.field]


def _judged(
    judge: ModelJudge,
    rubrics: Mapping[tuple[str, str], str],
    case: LabelledCase,
    seconds: float | None,
) -> JudgedCase:
    question = Question(
        rubric=rubrics[case.domain, case.field],
        field=case.field,
        expected=case.expected,
        actual=case.actual,
    )
    asked = in_thread(partial(judge.judge, question))
    try:
        return JudgedCase(case=case, judgement=waited_for(asked, seconds))
    except SopbenchError as error:
        return JudgedCase(case=case, why=error.message)
    except BaseException as error:  # noqa: BLE001 - whatever a provider's client leaves by
        if seconds is not None and not asked.done():
            # A server that sends a sign now and then keeps every client waiting.
            return JudgedCase(case=case, why=f"no judgement after {seconds:g} s")
        # In a thread nothing but the client raises it: an exit is none of this command.
        why = ready_to_cut(f"{name_of(error)}: {message_of(error)}")
        return JudgedCase(case=case, why=" ".join(why[:_TOLD].split()))


# What is said of a judge: its agreement with people, the disputed cases, and what it consumed.

_INDENT = len("judge  ")
_LINES = 20
"""Disputed cases that are listed."""


def agreement_text(calibration: Calibration) -> str:
    """Say how far a judge agrees: `94% of 120 labels, kappa 0.86`."""
    table = calibration.agreement
    return agreement_words(table.rate, table.cases, table.kappa)


def check_lines(check: FieldCheck) -> Iterator[str]:
    """Say what came of one field."""
    found = check.calibration
    table = found.agreement
    yield f"{check.domain.name}, {check.field}: judged by {check.model}"
    interval = table.interval
    bounds = f" [{shown_kappa(interval[0])}, {shown_kappa(interval[1])}]" if interval else ""
    yield f"  agreement   {agreement_text(found)}{bounds}"
    yield f"  confusion   {'people yes':>20}{'people no':>12}"
    yield f"    judge yes {table.both_yes:>20}{table.only_first:>12}"
    yield f"    judge no  {table.only_second:>20}{table.both_no:>12}"
    if check.unlabelled:
        yield f"  {check.unlabelled} rows have no label, and are left out"
    yield from _listed("disputed", [_disputed(one) for one in check.disputed])
    yield from _listed("not judged", [f"{one.case.name}: {one.why}" for one in check.not_judged])
    why = doubt_of(found, found.fingerprint)
    yield f"  gates on it are inconclusive: {why}" if why else "  gates may rest on it"


def _disputed(one: JudgedCase) -> str:
    judgement = one.judgement
    held = judgement is not None and judgement.held
    said = f"judge {'yes' if held else 'no'}, people {'no' if held else 'yes'}"
    return f"{one.case.name}: {said}: {judgement.reason if judgement is not None else ''}"


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    yield f"  {title}    {len(lines)}"
    yield from (f"    {line}" for line in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"    and {len(lines) - _LINES} more"


def summary_lines(
    judges: Mapping[str, tuple[Calibration | None, str]], consumption: Consumption
) -> Iterator[str]:
    """Say in a summary how far judges can be relied on, and what they consumed.

    Args:
        judges: by `DOMAIN, FIELD` the calibration, and why it does not hold.
        consumption: of the session.
    """
    for name, (calibration, why) in judges.items():
        # The agreement of another judge says nothing of this one.
        said = agreement_text(calibration) if calibration and why != OTHER_JUDGE else ""
        first, *more = filter(None, (said, why))
        yield from packed(f"judge  {name}: {first}", more, gap="; ", indent=_INDENT)
    if consumption.questions:
        first, *more = _consumed(consumption)
        yield from packed(f"judge  {first}", more, gap=", ", indent=_INDENT)
    yield from (f"       {note}" for note in consumption.notes)


def consumption_text(one: Consumption) -> str:
    """Say what was asked and what that consumed, apart from the agent's consumption."""
    return "; ".join((", ".join(_consumed(one)), *one.notes))


def _consumed(one: Consumption) -> Iterator[str]:
    return consumed_words(
        asked=one.asked,
        failed=one.failed,
        kept=one.kept,
        repeated=one.repeated,
        usage=one.usage,
    )


# Which answers people are asked to label: some of each field and verdict, drawn by a seed.

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
            case = _sampled_case(record, field)
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


def _sampled_case(record: RunRecord, field: OutputField) -> LabelledCase | None:
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
