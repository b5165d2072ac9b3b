"""Read what a domain says of itself, and say which key is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pytest_sopbench.errors import LoadingError

from .document import read_json, read_toml
from .schemas import UNUSED, Metadata, Shape
from .suggestions import nearest, shown

FILE_NAMES = ("metadata.json", "domain.toml")
"""What makes a folder a domain: exactly one of these."""

DECIDING = frozenset(
    {
        "acceptable_column",
        "contract",
        "input_columns",
        "known_disagreement_column",
        "outputs",
        "private_columns",
        "reject_bad_arguments",
        "tags_column",
        "tools",
        "types",
    }
)
"""Keys that change what is judged, or what an agent is given."""

_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a domain says of itself, and the file that says it."""

    path: Path
    metadata: Metadata
    warnings: tuple[str, ...]


def is_domain_folder(folder: Path) -> bool:
    """Whether a folder says that it is a domain."""
    return any((folder / name).is_file() for name in FILE_NAMES)


def read_metadata(folder: Path) -> Described:
    """Read `metadata.json` or `domain.toml`.

    Raises:
        LoadingError: there is neither, or both; it cannot be read; a key is missing or wrong.
    """
    found = [folder / name for name in FILE_NAMES if (folder / name).is_file()]
    if not found:
        raise LoadingError(
            folder,
            "not a domain: it has neither metadata.json nor domain.toml",
            hint="a domain is a folder; `sopbench new` makes one",
        )
    if len(found) > 1:
        raise LoadingError(folder, "has both metadata.json and domain.toml", hint="keep one")
    path = found[0]
    content = read_toml(path) if path.suffix == ".toml" else read_json(path)
    if not isinstance(content, Mapping):
        raise LoadingError(path, "not a JSON object with keys")
    try:
        metadata = Metadata.model_validate(content)
    except ValidationError as fault:
        raise LoadingError(path, _problems(fault), hint=_hint(fault, content)) from fault
    _refuse_slips(path, metadata)
    warnings = tuple(f"{path.name}: {text}" for text in _unknown_keys(metadata))
    return Described(path=path, metadata=metadata, warnings=warnings)


def _problems(fault: ValidationError) -> str:
    problems = [_problem(error) for error in fault.errors(include_url=False)]
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return "; ".join(problems[:_SHOWN]) + more


def _problem(error: ErrorDetails) -> str:
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        return f"key {key!r} is missing"
    message = error["msg"]
    text = message[:1].lower() + message[1:]
    return f"key {key!r} is {shown(error['input'])}: {text}"


def _hint(fault: ValidationError, content: Mapping[str, object]) -> str:
    missing = [str(error["loc"][0]) for error in fault.errors() if error["type"] == "missing"]
    unknown = [key for key in content if key not in Metadata.model_fields]
    found = ((key, nearest(key, unknown)) for key in missing)
    return "\n".join(f"{near!r} is there; is {key!r} meant?" for key, near in found if near)


def _refuse_slips(path: Path, metadata: Metadata) -> None:
    """Refuse a misspelled key that decides something: without it a rule would be off in silence.

    Others are only warned of, since public folders have keys of their own.
    """
    slips = [
        *_slips(metadata, "", DECIDING),
        *(
            slip
            for name, one in metadata.outputs.items()
            for slip in _slips(one, f"outputs.{name}.")
        ),
        *(slip for name, one in metadata.tools.items() for slip in _slips(one, f"tools.{name}.")),
    ]
    for key, near in slips:
        hint = f"is {near!r} meant?" if near else "remove it, or see which keys there are"
        raise LoadingError(path, f"key {key!r} is unknown", hint=hint)


def _slips(
    shape: Shape, prefix: str, deciding: frozenset[str] | None = None
) -> Iterator[tuple[str, str]]:
    known = type(shape).model_fields
    for key in shape.model_extra or {}:
        near = "contract" if key == "rules" else nearest(key, known) or ""
        if key not in UNUSED and (deciding is None or near in deciding):
            yield f"{prefix}{key}", near


def _unknown_keys(metadata: Metadata) -> Iterator[str]:
    for key in metadata.model_extra or {}:
        if key in UNUSED:
            yield f"key {key!r} is not used in this version"
    yield from _strangers(metadata, "", but=UNUSED)


def _strangers(shape: Shape, prefix: str, *, but: tuple[str, ...] = ()) -> Iterator[str]:
    known = type(shape).model_fields
    for key in shape.model_extra or {}:
        if key not in but:
            near = nearest(key, known)
            advice = f"; is {near!r} meant?" if near else ""
            yield f"key '{prefix}{key}' is unknown and has no effect{advice}"
