"""What of a record is masked and cut before it is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum, auto
from functools import cache
from typing import Any, Final, Protocol, TypeVar, cast

from pytest_sopbench._core.contract import RuleResult
from pytest_sopbench._core.hiding import (
    SHORTEST_FORM,
    SHORTEST_RANDOM,
    Secrets,
    is_named_secret,
    masked_forms,
)
from pytest_sopbench._core.model.task import MASK
from pytest_sopbench._core.model.trace import (
    Answer,
    Compared,
    Mismatch,
    Returned,
    Usage,
)
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.trajectory.calls import ExpectedCall
from pytest_sopbench._core.values.json import JsonValue

from .record import RunRecord

# Take out what must not leave the process: secrets by pattern, private columns by name.


T = TypeVar("T")


class Substitutes(Protocol):
    """Puts something in the place of what it finds, as a regular expression does."""

    def sub(self, replacement: str, text: str, /) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """Replaces every secret and every match of `patterns` by `***`, and values of private names.

    With `forms` known forms of credentials are masked as well, which nobody has to name. Without
    any of them it changes nothing. The names of output fields stay as they are, and so does what
    makes a run this run: its domain, task, trial and agent.
    """

    patterns: tuple[Substitutes, ...] = ()
    private: frozenset[str] = frozenset()
    secrets: Secrets | None = None
    forms: bool = True

    @property
    def masks_texts(self) -> bool:
        """Whether there is anything that is looked for in texts."""
        return self.forms or self.secrets is not None or bool(self.patterns)

    def of(self, private: Collection[str]) -> Redaction:
        """Return the redaction of a domain with these private columns."""
        # Asked for each run, and nearly always for nothing.
        return replace(self, private=frozenset(private)) if private or self.private else self

    def text(self, text: str) -> str:
        if self.secrets is not None:
            text = self.secrets.masked(text, MASK)
        for pattern in self.patterns:
            text = pattern.sub(MASK, text)
        # Most texts are shorter than any credential.
        if self.forms and len(text) >= SHORTEST_FORM:
            text = masked_forms(text, MASK)
        return text

    def cut_text(self, text: str) -> str:
        """Return a text that was cut by somebody who knows nothing of what is masked."""
        text = self.text(text)
        return text if self.secrets is None else self.secrets.masked_beside_cuts(text, MASK)

    def value(self, value: JsonValue) -> JsonValue:
        """Return any value, masked at every depth; a number is masked if its digits match."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Mapping):
            masked: dict[str, JsonValue] = {}
            for name, one in value.items():
                key = shown = self.text(name)
                while key in masked:
                    # Two names that both have a secret in them are still two.
                    key = f"{shown} ({len(masked) + 1})"
                masked[key] = self._member(name, one)
            return masked
        if isinstance(value, Sequence):
            return [self.value(one) for one in value]
        spelled = json.dumps(value)
        return value if self.text(spelled) == spelled else MASK

    def mapping(self, values: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Return values by the names of fields or columns, which are the domain's own."""
        return dict(zip(values, map(self._member, values, values.values()), strict=True))

    def _member(self, name: str, value: JsonValue) -> JsonValue:
        if name in self.private:
            return MASK
        if not isinstance(value, str):
            return self.value(value)
        if self.forms and len(value) >= SHORTEST_RANDOM and is_named_secret(name, value):
            return MASK
        return self.text(value)

    def part(self, value: T) -> T:
        """Return a record, or any part of one, as it may be written, sent and printed.

        All of its texts are masked but those that name something; nothing that is judged comes from
        it.
        """
        masks = self.forms or self.private or self.patterns or self.secrets is not None
        return cast("T", self._part(value)) if masks else value

    def _part(self, value: object) -> object:  # noqa: C901 - a branch for each way of masking
        # A word of ours is no text.
        if isinstance(value, str) and not isinstance(value, Enum):
            return self.text(value)
        if isinstance(value, tuple):
            return tuple(map(self._part, cast("tuple[object, ...]", value)))
        if not is_dataclass(value) or isinstance(value, type):
            return value
        masked: dict[str, object] = {}
        for name, way in _ways(type(value)):
            held: Any = getattr(value, name)
            if held is None:
                continue
            if way is _Way.BY_FIELD:
                masked[name] = self.mapping(held)
            elif way is _Way.UNMADE:
                masked[name] = tuple(map(self._unmade, held))
            elif way is _Way.VALUES and isinstance(held, tuple):
                masked[name] = tuple(map(self.value, cast("tuple[JsonValue, ...]", held)))
            elif way is _Way.VALUES:
                masked[name] = self.value(cast("JsonValue", held))
            elif held and not isinstance(held, float | int | Enum):
                # Numbers and words of ours, and what is empty, hold nothing that must not be seen.
                masked[name] = self._part(held)
        return replace(value, **masked) if masked else value

    def _unmade(self, one: Mismatch) -> Mismatch:
        """Return an argument that differs; one of a private name stands behind that of its tool."""
        names = re.split(r"[.\[\]\"]", one.field)
        if self.private.isdisjoint(names):
            return replace(self.part(one), field=self.text(one.field))
        return replace(one, expected=MASK, actual=MASK)


class _Way(Enum):
    """How a field of a class is masked."""

    PART = auto()
    VALUES = auto()
    BY_FIELD = auto()
    UNMADE = auto()


_KEPT: Final[Mapping[type, frozenset[str]]] = {
    RunRecord: frozenset(
        ("domain", "task", "agent", "task_hash", "answer_form", "trace", "document", "ignored")
    ),
    Mismatch: frozenset(("field",)),
    Compared: frozenset(("field",)),
    RuleResult: frozenset(("id", "clause", "kind")),
    Answer: frozenset(("form", "missing")),
    Returned: frozenset(("found_as",)),
    StateChange: frozenset(("table",)),
    Usage: frozenset(("priced_by",)),
    ExpectedCall: frozenset(("name",)),
}
"""The texts that name something of ours or of the domain, and stay as they are."""

_BY_FIELD: Final = frozenset(("answer", "expected", "values"))
"""Objects whose keys are the names of output fields."""


@cache
def _ways(kind: type) -> Sequence[tuple[str, _Way]]:
    """Return how each field of a class is masked, by its type; what is new is masked as well."""
    ways: list[tuple[str, _Way]] = []
    for one in fields(kind):
        written = str(one.type)
        way = _Way.VALUES if "JsonValue" in written or written.startswith("Row") else _Way.PART
        if one.name in _BY_FIELD and written.startswith("Mapping"):
            way = _Way.BY_FIELD
        if one.name not in _KEPT.get(kind, ()):
            ways.append((one.name, _Way.UNMADE if one.name == "unmade" else way))
    return ways


NOTHING_REDACTED = Redaction(forms=False)
"""Changes nothing."""
