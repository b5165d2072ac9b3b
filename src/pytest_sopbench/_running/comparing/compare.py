"""Ask all that has to be asked of a run before it can be judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.fields.match import not_judged
from pytest_sopbench._core.hiding.masking import Mask, current_mask, masking
from pytest_sopbench._core.judging.questions import NOT_ASKED, Question, questions
from pytest_sopbench._core.model.compared import Compared
from pytest_sopbench._core.model.task import (
    ASKED_OF_OTHERS,
    PUBLISHED_TOO,
    Compare,
    OutputField,
    Scoring,
    Task,
)
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._running.observing.capture import Capture, Output, captured
from pytest_sopbench.errors import ComparerError

from .comparer import PATIENCE, Comparer, ask
from .functions import Place, called
from .similar import similar

Source = Callable[[OutputField, Place], Comparer]
"""Returns what compares a field, or raises `ComparerError`."""

SOURCES: Final[Mapping[Compare, Source]] = {
    Compare.CALL: called,
    Compare.SIMILAR: similar,
}
"""Who is asked, by the kind of comparison; rooms above may know more of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparers:
    """The comparers of one domain by field; `seconds` is what one comparison may take."""

    by_field: Mapping[str, Comparer] = field(default_factory=dict[str, Comparer])
    seconds: float | None = PATIENCE

    @property
    def identities(self) -> Mapping[str, str]:
        """What each of them is, down to its version, by field."""
        return {name: one.identity for name, one in self.by_field.items()}

    def compare(
        self,
        rules: JudgingRules,
        task: Task,
        trace: Trace,
        mask: Mask | None = None,
        capture: Capture = "tee",
    ) -> Trace:
        """Return the trace with what the comparers find of its answer; nothing is raised.

        What they write is a part of what the run has written, as what its agent writes is.
        """
        with masking(mask or current_mask()):
            output = Output()
            with captured(output, capture):
                found = tuple(self._ask(one) for one in questions(rules, task, trace))
        if not found and not trace.compared:
            return trace
        return replace(trace, compared=found, output=trace.output + output.text)

    def _ask(self, question: Question) -> Compared:
        comparer = self.by_field.get(question.field.name)
        if comparer is None:
            return not_judged(question.field, question.place, NOT_ASKED)
        return ask(comparer, question, self.seconds)


def find_comparers(
    fields: tuple[OutputField, ...],
    scoring: Scoring,
    place: Place,
    *,
    seconds: float | None = PATIENCE,
    sources: Mapping[Compare, Source] = SOURCES,
) -> Comparers:
    """Find what compares the fields of a domain; nothing is imported where there is nothing to.

    Raises:
        ComparerError: one cannot be found or used, or the published scorer is asked for, which
            knows of none.
    """
    check_scoring(place.domain, fields, scoring)
    asked = [one for one in fields if one.compare in ASKED_OF_OTHERS]
    found = {one.name: sources[one.compare](one, place) for one in asked}
    return Comparers(by_field=found, seconds=seconds)


def check_scoring(domain: str, fields: Sequence[OutputField], scoring: Scoring) -> None:
    """Refuse to score as published what that scorer cannot compare.

    Raises:
        ComparerError: with the field.
    """
    asked = [one for one in fields if one.compare not in PUBLISHED_TOO]
    if asked and scoring is Scoring.PUBLISHED:
        msg = (
            f"domain {domain}: field {asked[0].name!r} is compared otherwise "
            f'("compare": "{asked[0].compare}"), which the published scorer knows nothing of'
        )
        raise ComparerError(msg, hint="leave scoring as published out for this domain")
