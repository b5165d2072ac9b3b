"""What is wrong with the shape of a rule, in the words of whoever writes one."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import NoReturn

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .context import RulePlace

WORDS = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "an object",
    "string_too_short": "text that is not empty",
    "string_type": "text",
}
"""What must stand in a place, by the type of pydantic's error; others carry their own words."""

UNION_TAGS = ("constrained-", "list[", "dict[", "str", "float", "int", "[key]")
"""How pydantic names the members of a union in the place of an error; nobody wrote these."""


def refuse_shape(fault: ValidationError, place: RulePlace, keys: Collection[str]) -> NoReturn:
    """Raise the first error of a rule; `keys` are all that a rule knows, for the hint."""
    # A union reports an error for each of its members; the deepest got furthest.
    errors = sorted(fault.errors(), key=lambda error: -len(_key(error["loc"])))
    first = errors[0]
    key = _key(first["loc"])
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])
        near = difflib.get_close_matches(name, set(keys) - {name}, n=1)
        place.refuse(key, "unknown key", f"did you mean {near[0]!r}?" if near else _all(keys))
    if first["type"] == "missing":
        place.refuse(key, "missing")
    same_place = [error for error in errors if _key(error["loc"]) == key]
    place.refuse(key, _problem(same_place))


def _problem(errors: Sequence[ErrorDetails]) -> str:
    for error in errors:
        details = error.get("ctx", {})
        if error["type"] == "too_short":
            return (
                f"has {details['actual_length']} elements, needs at least {details['min_length']}"
            )
        if error["type"] == "greater_than_equal":
            return f"must be at least {details['ge']}"
    wanted = [WORDS.get(one["type"], one["msg"].removeprefix("Input should be ")) for one in errors]
    if "a number" in wanted and "a whole number" in wanted:
        wanted.remove("a whole number")
    return f"must be {' or '.join(wanted)}"


def _all(keys: Collection[str]) -> str:
    return f"known: {', '.join(sorted(keys))}"


def _key(parts: Sequence[int | str]) -> str:
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not part.startswith(UNION_TAGS):
            text += f".{part}" if text else part
    return text
