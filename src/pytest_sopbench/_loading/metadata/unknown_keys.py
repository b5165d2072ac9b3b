"""The keys of `metadata.json` that the format does not have: refused, or told.

A misspelled key that decides something would switch a rule off in silence. A folder of the
published layout has keys of its own, so that there nothing is refused for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from pytest_sopbench._loading.files.suggestions import SHOWN, listed, nearest
from pytest_sopbench.errors import LoadingError

from .schema import Metadata
from .shape import Shape

LIMIT = 500
"""Unknown keys from which on a file is something else than metadata."""

DECIDING = frozenset(
    {
        "acceptable_column",
        "contract",
        "ignored_paths",
        "input_columns",
        "known_disagreement_column",
        "ordered_paths",
        "outputs",
        "private_columns",
        "reject_bad_arguments",
        "roles",
        "tables",
        "tags_column",
        "tools",
        "types",
    }
)
"""Keys that change what is judged, or what an agent is given."""


def refuse_slips(path: Path, metadata: Metadata) -> None:
    """Refuse an unknown key inside `outputs`, `tables` or `tools`, and one like a deciding key.

    Raises:
        LoadingError: with the nearest key as the hint.
    """
    every = list(islice(_unknown(metadata), LIMIT + 1))
    if len(every) > LIMIT:
        names = listed(name for _, name, _ in every[:3])
        raise LoadingError(
            path,
            f"more than {LIMIT} unknown keys, the first of them {names}",
            hint="a domain says here what its columns mean; its rows stand in a file of their own",
        )
    for prefix, key, shape in every:
        near = _meant(key, shape)
        if prefix or near in DECIDING:
            hint = f"is {near!r} meant?" if near else "remove it, or see which keys there are"
            raise LoadingError(path, f"key {prefix + key!r} is unknown", hint=hint)


def unknown_keys(metadata: Metadata) -> Iterator[str]:
    """Say of each unknown key that it has no effect; of many the first few."""
    every = list(_unknown(metadata))
    for prefix, key, shape in every[:SHOWN]:
        near = _meant(key, shape)
        advice = f"; is {near!r} meant?" if near else ""
        yield f"key '{prefix}{key}' is unknown and has no effect{advice}"
    if len(every) > SHOWN:
        yield f"{len(every) - SHOWN} more keys are unknown and have no effect"


def _unknown(metadata: Metadata) -> Iterator[tuple[str, str, Shape]]:
    """Each unknown key, behind the path of where it stands, with the shape that lacks it."""
    yield from (("", key, metadata) for key in metadata.model_extra or {})
    parts: Mapping[str, Mapping[str, Shape]] = {
        "outputs": metadata.outputs,
        "tables": metadata.tables,
        "tools": metadata.tools,
    }
    for part, shapes in parts.items():
        for name, shape in shapes.items():
            yield from ((f"{part}.{name}.", key, shape) for key in shape.model_extra or {})


def _meant(key: str, shape: Shape) -> str:
    return "contract" if key == "rules" else nearest(key, type(shape).model_fields)
