"""The rubric by which a model judges an output field: a text of its own, or a file beside it."""

from __future__ import annotations

from typing import Final

from pytest_sopbench._core.model.task import Compare, OutputField
from pytest_sopbench._loading.files.document import is_a_file, lies_inside, read_text
from pytest_sopbench._loading.metadata.read import Described
from pytest_sopbench._loading.metadata.schema import OutputShape
from pytest_sopbench.errors import LoadingError

_ADVICE: Final = 'write "rubric": "..." or "rubric_file": "rubric.md": when is an answer right?'


def rubric_of(described: Described, name: str, shape: OutputShape) -> str:
    """Return the rubric of a field; empty where none is declared.

    Raises:
        LoadingError: there are two, or the file cannot be read or lies outside of the domain.
    """
    if shape.rubric_file is None:
        return shape.rubric.strip()
    key = f"key 'outputs.{name}.rubric_file'"
    if shape.rubric:
        raise LoadingError(
            described.path, f"{key}: there is a 'rubric' as well", hint="remove one of them"
        )
    folder = described.path.parent
    path = folder / shape.rubric_file
    if not lies_inside(folder, path):
        raise LoadingError(
            described.path,
            f"{key}: {shape.rubric_file} lies outside of the domain",
            hint="put it into the domain's folder",
        )
    if not is_a_file(path):
        raise LoadingError(
            described.path, f"{key}: there is no file {shape.rubric_file}", hint=_ADVICE
        )
    text = read_text(path).strip()
    if not text:
        raise LoadingError(path, "the file is empty", hint="write down when an answer is right")
    return text


def check_rubric(described: Described, field: OutputField) -> None:
    """Refuse a judge without a rubric, a rubric without a judge, and a judge of what is private.

    Raises:
        LoadingError: with the key.
    """
    key = f"key 'outputs.{field.name}"
    is_judged = field.compare is Compare.JUDGE
    if is_judged and not field.rubric:
        raise LoadingError(
            described.path, f"{key}.rubric': nothing says what to judge by", hint=_ADVICE
        )
    if field.rubric and not is_judged:
        raise LoadingError(
            described.path,
            f"{key}.rubric': nothing judges by it, since 'compare' is {field.compare.value!r}",
            hint='write "compare": "judge", or remove it',
        )
    if is_judged and field.private:
        raise LoadingError(
            described.path,
            f"{key}.compare': the column is private, and a judge is a model of a provider",
            hint="take it off 'private_columns', or compare it otherwise",
        )
    if is_judged and field.at_least is not None:
        raise LoadingError(
            described.path,
            f"{key}.at_least': a judge says yes or no, and gives no score",
            hint="remove it, and say in the rubric what is enough",
        )
