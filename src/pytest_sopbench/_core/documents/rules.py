"""How the answers of one tool-less domain are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from pytest_sopbench._core.values.json import JsonValue

from .declared import Declared, declared
from .paths import PathPatterns

if TYPE_CHECKING:
    from .schema import Schema


class Role(StrEnum):
    """What a value of a document is, which words the reason where it differs."""

    ROUTE = "route"
    NUMBER = "number"
    TIME = "time"
    DIALOGUE = "dialogue"
    TEXT = "text"


NO_ROLES: Final[Mapping[str, Role]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRules:
    """How the answers of one tool-less domain are judged.

    Names and dotted paths fit at any depth, by whole keys.

    Attributes:
        schema: the JSON schema that an answer has to satisfy.
        schema_name: the file it stands in.
        ignored: paths that are not compared; the schema still binds them.
        ordered: paths of lists whose order counts; all others are multisets.
        roles: what the value at a path is.
        domain_class: domains of the same class are summed.
    """

    schema: Mapping[str, JsonValue]
    schema_name: str = "the schema"
    ignored: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    roles: Mapping[str, Role] = field(default_factory=dict[str, Role])
    domain_class: str = ""
    ignored_patterns: PathPatterns = field(init=False, compare=False, repr=False)
    ordered_patterns: PathPatterns = field(init=False, compare=False, repr=False)
    role_patterns: PathPatterns = field(init=False, compare=False, repr=False)
    declared: Declared = field(init=False, compare=False, repr=False)
    validator: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Made once for all runs of a session.
        from .schema import compiled  # noqa: PLC0415 - only where an answer is a document

        put = object.__setattr__
        put(self, "ignored_patterns", PathPatterns(self.ignored))
        put(self, "ordered_patterns", PathPatterns(self.ordered))
        put(self, "role_patterns", PathPatterns(self.roles))
        put(self, "declared", declared(self.schema))
        put(self, "validator", compiled(self.schema))
