"""Hold a judge against labels: what both said of each case, field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.gates.calibration import Calibration
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.model.task import Compare
from pytest_sopbench._core.statistics.agreement import agreement_of
from pytest_sopbench._judge.asking.question import Question
from pytest_sopbench._judge.asking.reply import Judgement
from pytest_sopbench._judge.judge import ModelJudge, fingerprint_of
from pytest_sopbench._running.comparing.comparer import PATIENCE, waited_for
from pytest_sopbench._running.event_loop.blocking import in_thread
from pytest_sopbench._running.observing.problem import message_of, name_of
from pytest_sopbench.errors import JudgeError, SopbenchError

from .labels import LabelledCase

_TOLD = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """A labelled case, and what the judge says of it; `why` where it gave no judgement."""

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
