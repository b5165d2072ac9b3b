"""Find the function that a field names as its comparer, and say which version of it this is."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, cast

from pytest_sopbench._core.judging.questions import Question
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.plain import to_json_value as as_json
from pytest_sopbench._running.importing import place_of
from pytest_sopbench._running.observing.capture import Output, captured
from pytest_sopbench._running.observing.problem import message_of, name_of
from pytest_sopbench.errors import ComparerError

from .comparer import Comparer

GROUP: Final = "pytest_sopbench.comparers"
"""The entry points under which packages register comparers."""

VERSION: Final = "__version__"
"""The attribute by which a comparer says its version itself."""

_TOLD: Final = "it is called as comparer(expected, actual, *, field, task, answer)"
# Taken at import: an agent may put another function into its place.
_dumps = json.dumps
_NAMED: Final = ("field", "task", "answer")
_SHOWN: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the comparers of a domain are looked for.

    Attributes:
        domain: its name.
        folder: where its files lie.
        trusted: whether what its files name may be imported and called.
        path: the folder that is made importable: the current directory.
        registered: the comparers that the project registers, by name.
    """

    domain: str
    folder: Path
    trusted: bool
    path: Path
    registered: Mapping[str, object] = field(default_factory=dict[str, object])


def called(output: OutputField, place: Place) -> Comparer:
    """Return the comparer that `metadata.json` names for a field.

    A name that is registered is code that the user has installed or written down himself, so any
    domain may name it. What is imported by its path is the choice of the domain.

    Raises:
        ComparerError: there is none, it cannot be imported, or cannot be called as one.
    """
    where = f"domain {place.domain}, field {output.name!r}: comparer {output.comparer!r}"
    spec = output.comparer
    function = _imported(spec, where, place) if ":" in spec else _registered(spec, where, place)
    _check(output, function, where)
    return Comparer(f"{spec} {_version(function, where)}", partial(_call, function))


def _call(function: Callable[..., object], question: Question) -> object:
    return function(
        question.expected,
        question.actual,
        field=question.field,
        task=question.task,
        answer=question.answer,
    )


def _registered(name: str, where: str, place: Place) -> Callable[..., object]:
    if name in place.registered:
        return _callable(place.registered[name], where)
    known = entry_points(group=GROUP)
    for entry in known:
        if entry.name == name:
            return _callable(_guarded(entry.load, entry.value, where), where)
    names = sorted({*place.registered, *known.names})
    near = get_close_matches(name, names, n=1)
    msg = f"{where}: none is registered by that name (registered: {', '.join(names) or 'none'})"
    hint = f"did you mean {near[0]}? " if near else ""
    raise ComparerError(msg, hint=f"{hint}it is package.module:function, or a registered name")


def _imported(spec: str, where: str, place: Place) -> Callable[..., object]:
    if not place.trusted:
        msg = f"{where}: this domain lies outside the project, and names code to call"
        hint = "name the domain by its path, or add its folder to sop_trust"
        raise ComparerError(msg, hint=hint)
    name, _, attribute = spec.partition(":")
    folder = str(place.path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
    found: Any = _guarded(partial(importlib.import_module, name), name, where)
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if found is None:
        msg = f"{where}: module {name!r} has no {attribute!r}"
        raise ComparerError(msg, hint=_TOLD)
    return _callable(found, where)


def _guarded(load: Callable[[], object], name: str, where: str) -> object:
    try:
        with captured(Output()):
            return load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        at = place_of(error)
        told = f"{name_of(error)}: {message_of(error)}{f', at {at}' if at else ''}"
        msg = f"{where}: importing {name} failed: {told}"
        raise ComparerError(msg, hint="it is package.module:function") from error


def _callable(found: object, where: str) -> Callable[..., object]:
    if not callable(found):
        msg = f"{where}: it cannot be called"
        raise ComparerError(msg, hint=_TOLD)
    return found


def _check(output: OutputField, function: Callable[..., object], where: str) -> None:
    """Refuse what cannot be called as a comparer, or returns a number that decides nothing."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # What is written in C may not tell; its calls will.
        return
    try:
        signature.bind(None, None, **dict.fromkeys(_NAMED))
    except TypeError as fault:
        msg = f"{where}: it cannot be called: {fault}"
        raise ComparerError(msg, hint=_TOLD) from None
    if output.at_least is None and signature.return_annotation in (float, "float"):
        msg = f"{where}: it returns a number, and nothing says from where on that is right"
        hint = f'declare it: "outputs": {{"{output.name}": {{"at_least": 0.8, ...}}}}'
        raise ComparerError(msg, hint=hint)


def _version(function: Callable[..., object], where: str) -> str:
    """Return what the function says of its version, else the hash of the file that it stands in.

    The whole file counts: what a function calls decides as much as the function itself.
    """
    plain = inspect.unwrap(function)
    given: list[JsonValue] = []
    while isinstance(plain, partial):
        # What it was given beforehand may stand in another file.
        given.append(as_json([plain.args, plain.keywords]))
        plain = inspect.unwrap(plain.func)
    for one in (function, *_owners(plain)):
        said = getattr(one, VERSION, None)
        if isinstance(said, str | int | float):
            return f"version {said}"
    for one in _owners(plain):
        try:
            file = inspect.getsourcefile(cast("Any", one))
            source = Path(file).read_text("utf-8") if file else ""
        except (TypeError, OSError, ValueError):
            continue
        if source:
            source += _dumps(given, sort_keys=True) if given else ""
            return f"source {sha256(source.encode()).hexdigest()[:_SHOWN]}"
    msg = f"{where}: its source cannot be read, so nobody can tell when it changes"
    raise ComparerError(msg, hint=f"give it an attribute {VERSION}, which you raise with it")


def _owners(function: object) -> Iterable[object]:
    return function, type(function)
