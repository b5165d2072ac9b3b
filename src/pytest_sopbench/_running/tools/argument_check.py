"""Check the arguments of a tool call against the tool's spec.

Validators are compiled once per domain, and are safe to use from many threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.model.trace import Finding, FindingKind
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import ToolSpecError

if TYPE_CHECKING:
    import jsonschema_rs

Copied: TypeAlias = Callable[[JsonValue], bool]
"""Tells whether a value stands in the inputs or in an earlier result of the run."""

_SHOWN: Final = 200
_NESTED_ROOM: Final = 10  # findings of one call; a list of bad values would have thousands


class ArgumentCheck:
    """What one tool spec asks of the arguments."""

    __slots__ = ("_closed", "_properties", "_required", "_validator", "properties")

    def __init__(self, spec: ToolSpec, validator: jsonschema_rs.Validator) -> None:
        schema = spec.parameters
        self._validator = validator
        self.properties = cast("Mapping[str, JsonValue]", schema.get("properties", {}))
        self._properties = frozenset(self.properties)
        self._required = tuple(cast("Iterable[str]", schema.get("required", ())))
        # A parameter that the spec does not name is a mistake unless the spec invites more.
        self._closed = not schema.get("additionalProperties") and "patternProperties" not in schema

    def findings(self, arguments: JsonValue, copied: Copied) -> tuple[Finding, ...]:
        """Return every departure from the spec; `copied` is asked only about bad values."""
        if not isinstance(arguments, dict):
            return (_invalid("", f"arguments must be an object, not {_shown(arguments)}"),)
        unknown = arguments.keys() - self._properties if self._closed else frozenset[str]()
        if not unknown and self._validator.is_valid(arguments):
            return ()
        return (
            *self._missing(arguments),
            *self._unknown(name for name in arguments if name in unknown),
            *self._invalid_values(arguments, copied),
        )

    def _missing(self, arguments: Mapping[str, JsonValue]) -> Iterable[Finding]:
        return (
            Finding(
                kind=FindingKind.MISSING_PARAMETER,
                parameter=name,
                message=f"parameter {name!r} is missing",
            )
            for name in self._required
            if name not in arguments
        )

    def _unknown(self, names: Iterable[str]) -> Iterable[Finding]:
        known = ", ".join(self.properties) or "no parameters"
        return (
            Finding(
                kind=FindingKind.UNKNOWN_PARAMETER,
                parameter=name,
                message=f"parameter {name!r} is unknown; the tool takes {known}",
            )
            for name in names
        )

    def _invalid_values(self, arguments: dict[str, Any], copied: Copied) -> list[Finding]:
        found: list[Finding] = []
        for error in self._validator.iter_errors(arguments):
            path = list(error.instance_path)
            if not path and error.kind.name in ("required", "additionalProperties"):
                continue
            parameter = str(path[0]) if path else ""
            place = "".join(f"[{part!r}]" for part in path[1:])
            found.append(
                _invalid(
                    parameter,
                    f"parameter {parameter!r}{place}: {_cut(error.message)}"
                    if path
                    else _cut(error.message),
                    copied=bool(path) and any(map(copied, _values_at(arguments, path))),
                )
            )
            if len(found) == _NESTED_ROOM:
                break
        return found


def compile_checks(domain: Domain) -> dict[str, ArgumentCheck]:
    """Compile the argument schema of every tool of a domain.

    Raises:
        ToolSpecError: a schema is not a valid JSON schema, or points outside itself.
    """
    return {spec.name: ArgumentCheck(spec, _validator(domain, spec)) for spec in domain.tool_specs}


def _validator(domain: Domain, spec: ToolSpec) -> jsonschema_rs.Validator:
    try:
        import jsonschema_rs  # noqa: PLC0415 - only where it is asked for

        return jsonschema_rs.validator_for(
            cast("dict[str, Any]", spec.parameters), validate_formats=True, retriever=_refuse
        )
    except ValueError as fault:
        raise ToolSpecError(
            domain.folder,
            f"tool {spec.name!r}: its parameters are not a usable JSON schema: "
            f"{_cut(str(fault).partition(chr(10))[0])}",
            hint="correct the schema of this tool in toolspecs.json",
        ) from fault


def _refuse(uri: str) -> NoReturn:
    # A spec that comes with a domain must not make this machine ask another one.
    msg = f"a remote $ref is never fetched: {uri}"
    raise ValueError(msg)


def _values_at(arguments: JsonValue, path: list[str | int]) -> list[JsonValue]:
    """Return the offending value and every container on the way to it, parameter first."""
    values: list[JsonValue] = []
    here: Any = arguments
    for part in path:
        here = here[part]
        values.append(here)
    return values


def _invalid(parameter: str, message: str, *, copied: bool = False) -> Finding:
    return Finding(
        kind=FindingKind.INVALID_VALUE, parameter=parameter, message=message, copied=copied
    )


def _shown(value: JsonValue) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{ready_to_cut(text)[:_SHOWN]}..."
