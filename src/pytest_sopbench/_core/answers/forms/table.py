"""Every form in which an answer can be given, in order of trust."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.answers.text.search import AnswerCandidate, Search
from pytest_sopbench._core.model.answer import AnswerForm

from .marked import in_field_tags, in_final_decision, in_final_output
from .objects import in_json, in_python
from .weak import in_lines, in_whole_text


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerFormSpec:
    """A form of an answer.

    Attributes:
        id: in a saved session; its candidates carry it.
        words: what gave too few fields, in the reason of a run without an answer.
        heading: where the answer was found, in the report of a run.
        find: yields the candidates in a text; `None` where no text is searched for the form alone.
        marked: whether the form says by itself that this is the answer; a line does not.
    """

    id: str
    words: str
    heading: str
    find: Callable[[Search], Iterator[AnswerCandidate]] | None = None
    marked: bool = True


_IN_ORDER: Final = (
    AnswerFormSpec(
        id=AnswerForm.MAPPING,
        words="the mapping that was returned",
        heading="as the mapping that was returned",
    ),
    AnswerFormSpec(
        id=AnswerForm.FINAL_OUTPUT,
        words="the JSON in <final_output>",
        heading="in <final_output>",
        find=in_final_output,
    ),
    AnswerFormSpec(
        id=AnswerForm.FIELD_TAGS,
        words="the tags",
        heading="in one tag per output field",
        find=in_field_tags,
    ),
    AnswerFormSpec(
        id=AnswerForm.FINAL_DECISION,
        words="the JSON in <final_decision>",
        heading="in <final_decision> or <answer>",
        find=in_final_decision,
    ),
    AnswerFormSpec(
        id=AnswerForm.JSON,
        words="the last JSON object",
        heading="in a JSON object",
        find=in_json,
    ),
    AnswerFormSpec(
        id=AnswerForm.PYTHON,
        words="the last Python dict",
        heading="in a Python dict",
        find=in_python,
    ),
    # Lines and boxes are read together: of one field the last of either counts.
    AnswerFormSpec(
        id=AnswerForm.FIELD_LINES,
        words="the `Field: value` lines",
        heading="in lines such as 'field: value'",
        find=in_lines,
        marked=False,
    ),
    AnswerFormSpec(id=AnswerForm.BOXED, words="the \\boxed{}", heading="in \\boxed{}"),
    AnswerFormSpec(
        id=AnswerForm.WHOLE_TEXT,
        words="the whole text",
        heading="as the whole text",
        find=in_whole_text,
        marked=False,
    ),
    AnswerFormSpec(
        id=AnswerForm.DOCUMENT,
        words="the JSON document",
        heading="as one JSON document",
    ),
    AnswerFormSpec(
        id=AnswerForm.PUBLISHED,
        words="the published scorer",
        heading="as the published scorer finds it",
    ),
)

FORMS: Final[dict[str, AnswerFormSpec]] = {str(form.id): form for form in _IN_ORDER}
"""Every form by its id; of those that are marked, and of the others, the first is trusted most."""


def candidates(search: Search, *, marked: bool) -> list[AnswerCandidate]:
    """Return what the forms find in a text, in order of trust."""
    finders = [form.find for form in FORMS.values() if form.marked is marked]
    return [found for find in finders if find is not None for found in find(search)]


def read_form(text: str) -> str:
    """Return the form that a saved session names.

    Raises:
        ValueError: there is none of that name.
    """
    return text if text in FORMS and text not in {*AnswerForm} else AnswerForm(text)
