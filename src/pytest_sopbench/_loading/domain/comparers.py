"""What `outputs` says of a field that others compare: who does, and from which score on."""

from __future__ import annotations

from pytest_sopbench._core.model.task import ASKED_OF_OTHERS, Compare, OutputField
from pytest_sopbench._loading.metadata.read import Described
from pytest_sopbench.errors import LoadingError


def check_comparer(described: Described, field: OutputField) -> None:
    """Refuse a comparer that nothing would ask, and one that is not named.

    Raises:
        LoadingError: with the key.
    """
    key = f"key 'outputs.{field.name}"
    if field.compare is Compare.CALL and not field.comparer:
        raise LoadingError(
            described.path,
            f"{key}.comparer': nothing says which function compares the field",
            hint='write "comparer": "package.module:function", or a registered name',
        )
    if field.comparer and field.compare is not Compare.CALL:
        raise LoadingError(
            described.path,
            f"{key}.comparer': nothing calls it, since 'compare' is {field.compare.value!r}",
            hint='write "compare": "call", or remove it',
        )
    if field.at_least is not None and field.compare not in ASKED_OF_OTHERS:
        raise LoadingError(
            described.path,
            f"{key}.at_least': nothing gives a score, since 'compare' is {field.compare.value!r}",
            hint='write "compare": "call" and a "comparer", or remove it',
        )
