"""Tools that a domain writes in Python."""

from __future__ import annotations

import inspect
import keyword
import sys
import traceback
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from inspect import Parameter, Signature
from itertools import count
from operator import getitem
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, Final, Literal, NoReturn, Protocol, TypeAlias, TypeVar, Union, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task, ToolSpec
from pytest_sopbench._core.model.world import Tables
from pytest_sopbench._core.protocols import Policy
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench._running.observing import Output, captured, is_of, is_ours, message_of, name_of
from pytest_sopbench.errors import LoadingError, ToolError, ToolSpecError, Unavailable

# A manager: the class in a domain's own code that serves its tools, one instance per run.


class Manager(Protocol):
    """A domain's own tools, as SOP-Bench has them."""

    def process_tool_call(self, name: str, arguments: dict[str, JsonValue], /) -> object:
        """Serve one call; whatever it raises becomes a `ToolError`."""
        ...


class ManagerFactory(Protocol):
    """Makes the manager of one run."""

    def __call__(self, task: Task, world: Tables | None = None, /) -> Manager:
        """Make it; without `world`, which is the run's, it has a world that nobody looks at."""
        ...


def process(manager: Manager, name: str, arguments: dict[str, JsonValue]) -> object:
    """Let a manager serve one call, under the name that the agent called.

    Raises:
        ToolError: the manager raised; its message is given to the agent.
        Unavailable: the manager says that what it asks cannot be reached.
        KeyboardInterrupt: the user stopped the session meanwhile.
    """
    try:
        return manager.process_tool_call(name, arguments)
    except (ToolError, Unavailable, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - a domain's own code may raise anything
        raise ToolError(_told(error)) from None


def _told(error: BaseException) -> str:
    # Managers refuse with ValueError, and its text is meant for the agent as it stands. The text
    # of others means little without the type: `KeyError: 'P_7'`.
    message = message_of(error)
    if type(error) is ValueError and message:
        return message
    return f"{name_of(error)}: {message}" if message else name_of(error)


# Fill the parameters of somebody else's callable by name.

_NEVER = frozenset({Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD})


class CannotFillError(Exception):
    """A required parameter has no value."""

    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


@dataclass(frozen=True, slots=True)
class Filling:
    """How one callable is called: what goes by position, and what by name.

    `optional` are the parameters that may be given and need not be.
    """

    positional: tuple[Parameter, ...]
    by_name: tuple[str, ...]
    filled: frozenset[str]
    optional: tuple[str, ...] = ()

    def values(self, known: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """Return the arguments of one call; `known` has a value for each of `filled`."""
        by_position: list[object] = [
            known[one.name] if one.name in self.filled else one.default for one in self.positional
        ]
        return by_position, {name: known[name] for name in self.by_name}


def plan_filling(
    signature: Signature, *, required: Collection[str], wanted: Collection[str]
) -> Filling:
    """Decide which parameters of a callable are filled.

    Args:
        signature: of the callable, without `self`.
        required: names that are filled if the parameter has no default.
        wanted: names that are filled wherever there is a parameter of that name.

    Raises:
        CannotFillError: a parameter has no default and is in neither.
    """
    positional: list[Parameter] = []
    by_name: list[str] = []
    filled: set[str] = set()
    optional: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in _NEVER:
            continue
        takes = _takes(parameter, required, wanted)
        if takes:
            filled.add(name)
        if parameter.default is not Parameter.empty:
            optional.append(name)
        if parameter.kind is Parameter.POSITIONAL_ONLY:
            positional.append(parameter)
        elif takes:
            by_name.append(name)
    # Defaults at the end may be left out; one before a filled parameter must be said.
    while positional and positional[-1].name not in filled:
        positional.pop()
    return Filling(tuple(positional), tuple(by_name), frozenset(filled), tuple(optional))


def _takes(parameter: Any, required: Collection[str], wanted: Collection[str]) -> bool:
    if parameter.name in wanted:
        return True
    if parameter.default is not Parameter.empty:
        return False
    if parameter.name in required:
        return True
    raise CannotFillError(parameter.name)


# A domain's own code: `tools.py` and `policy.py`, imported under private names.
#
# Whoever calls this has decided that the domain is trusted.

Fault: TypeAlias = type[LoadingError]

_ROW, _FOLDER, _WORLD = "row", "domain_dir", "world"
_numbers = count(1)
_importing = RLock()


def load_manager_factory(domain: Domain) -> ManagerFactory:
    """Import a domain's `tools.py` and return what makes its manager, once per run.

    The manager is the one class defined there whose name ends in `Manager` and that has a
    `process_tool_call`. Of its constructor's parameters, `row` is filled with a copy of the
    task's inputs and tool results, `domain_dir` with the domain's folder, and `world` with the
    tables of the run, if the domain has a world.

    Raises:
        ToolSpecError: the file cannot be imported, or it has no such class, or more than one,
            or its constructor asks for something else. Making a manager raises it as well.
    """
    if domain.tools_file is None:
        raise ToolSpecError(domain.folder, "the domain has no tools.py")
    path = domain.tools_file
    module = _imported(domain, path, ToolSpecError)
    with _looking(path, ToolSpecError):
        kind = _manager_class(module, path)
        filling = _filling(kind, path, domain)

    def make(task: Task, world: Tables | None = None, /) -> Manager:
        if world is None and domain.world is not None:
            world = domain.world.tables(task.world)
        return _made(kind, filling, domain, task, world)

    return make


def load_policy(domain: Domain) -> Policy:
    """Import a domain's `policy.py` and return its `decide(inputs, call)`.

    Raises:
        LoadingError: there is no such file or function, or the file cannot be imported.
    """
    if domain.policy_file is None:
        raise LoadingError(
            domain.folder,
            "the domain has no policy.py, so it has no reference policy",
            hint="name another agent, or a domain that has one",
        )
    module = _imported(domain, domain.policy_file, LoadingError)
    with _looking(domain.policy_file, LoadingError):
        decide = getattr(module, "decide", None)
    if not callable(decide):
        raise LoadingError(
            domain.policy_file,
            "it defines no function 'decide'",
            hint="a reference policy is decide(inputs, call) -> {field: value}",
        )
    return cast("Policy", decide)


class _FreshLoader(SourceFileLoader):
    """Reads the source each time, and leaves no `__pycache__` in the domain's folder."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        # The documented way to say that no cached code can be trusted, nor be written.
        raise OSError(path)


def _imported(domain: Domain, path: Path, fault: Fault) -> ModuleType:
    # Domains all call their file tools.py; a name of its own keeps them, and the user's, apart.
    name = f"_sopbench_domain_{next(_numbers)}_{path.stem}"
    loader = _FreshLoader(name, str(path.absolute()))
    spec = ModuleSpec(name, loader, origin=loader.path)
    spec.has_location = True
    module = module_from_spec(spec)
    with _importing, _siblings(domain.folder.absolute()), captured(Output()):
        # Dataclasses and pickle look a class's module up there.
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a domain's own code may raise anything
            sys.modules.pop(name, None)
            _refuse(path, error, fault)
    return module


@contextmanager
def _looking(path: Path, fault: Fault) -> Generator[None, None, None]:
    """Refuse code whose classes or modules raise as soon as somebody looks at them."""
    try:
        yield
    except (KeyboardInterrupt, LoadingError):
        raise
    except BaseException as error:  # noqa: BLE001 - a domain's own code may raise anything
        _refuse(path, error, fault, "looked at")


def _refuse(path: Path, error: BaseException, fault: Fault, action: str = "imported") -> NoReturn:
    line: int | None = None
    if is_of(error, SyntaxError):
        line = error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        line = next(
            (f.lineno for f in reversed(frames) if f.filename == str(path.absolute())), None
        )
    raise fault(
        path,
        f"it cannot be {action}: {name_of(error)}: {message_of(error)}",
        row=line,
    ) from error


@contextmanager
def _siblings(folder: Path) -> Generator[None, None, None]:
    """Let a domain's code import the files beside it, and leave no trace of that."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
        for name in sys.modules.keys() - before:
            # Another domain may have a file of the same name.
            file = getattr(sys.modules[name], "__file__", None)
            if file and not name.startswith("_sopbench_") and folder in Path(file).parents:
                del sys.modules[name]


def _manager_class(module: ModuleType, path: Path) -> type[Any]:
    ours = [
        kind
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and name.endswith("Manager")
        and kind.__module__ == module.__name__
        and callable(getattr(kind, "process_tool_call", None))
    ]
    # A base beside its one heir is a part of it, not a rival.
    leaves = {kind for kind in ours if not any(o is not kind and issubclass(o, kind) for o in ours)}
    if len(leaves) == 1:
        return leaves.pop()
    if not leaves:
        raise ToolSpecError(
            path,
            "no class defined here has a name that ends in 'Manager' and a process_tool_call",
            hint="define one: class ...Manager with process_tool_call(self, name, arguments)",
        )
    names = ", ".join(sorted(kind.__name__ for kind in leaves))
    raise ToolSpecError(
        path, f"more than one manager is defined here: {names}", hint="keep one, rename the others"
    )


def _filling(kind: type[Any], path: Path, domain: Domain) -> Filling:
    wanted = (_ROW, _FOLDER) if domain.world is None else (_ROW, _FOLDER, _WORLD)
    try:
        return plan_filling(inspect.signature(kind), required=(), wanted=wanted)
    except CannotFillError as fault:
        known = " and ".join(map(repr, wanted[:2]))
        without = " (for 'world' the domain needs a world.json)" if domain.world is None else ""
        raise ToolSpecError(
            path,
            f"{kind.__name__}() needs {fault.parameter!r}, which is not known here",
            hint=f"a manager may ask for {known}{without}; give the others a default",
        ) from None


def _made(
    kind: type[Any], filling: Filling, domain: Domain, task: Task, world: Tables | None
) -> Manager:
    row = to_json_value({**task.inputs, **task.results})
    values, named = filling.values({_ROW: row, _FOLDER: domain.folder, _WORLD: world})
    try:
        return cast("Manager", kind(*values, **named))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((f.lineno for f in reversed(frames) if not is_ours(f.filename)), None)
        raise ToolSpecError(
            domain.tools_file or domain.folder,
            f"{kind.__name__} cannot be made for task {task.id}: "
            f"{name_of(error)}: {message_of(error)}",
            row=line,
        ) from error


# The tools of a run as typed functions, for frameworks that read signatures.

Arguments = dict[str, object]

F = TypeVar("F", bound=Callable[..., object])

subscript: Callable[[Any, Any], Any] = getitem
"""A type made at run time, which no type checker can follow."""

_TYPES: Final[Mapping[str, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict[str, Any],
    "null": None,
}


class _Shape:
    """How the parameters of one spec are called, typed and described in Python."""

    def __init__(self, spec: ToolSpec) -> None:
        properties: Any = spec.parameters.get("properties", {})
        required: Any = spec.parameters.get("required", ())
        # Parameters without a default must come first in a signature.
        self.order = sorted(properties, key=lambda name: name not in required)
        self.python = _python_names(self.order)
        self.optional = {
            name
            for name in self.order
            if name not in required and not _takes_null(properties[name])
        }
        self.parameters = [
            Parameter(
                self.python[name],
                Parameter.POSITIONAL_OR_KEYWORD,
                annotation=annotation(properties[name], optional=name not in required),
                default=Parameter.empty if name in required else None,
            )
            for name in self.order
        ]
        self.doc = _doc(spec, self.python, properties)

    def arguments(self, values: tuple[object, ...], named: Arguments) -> Arguments:
        """Give every value the name that the spec knows; nothing is refused here."""
        given: Arguments = {}
        for place, value in enumerate(values):
            known = place < len(self.order)
            given[self.order[place] if known else f"argument_{place + 1}"] = value
        original = {python: name for name, python in self.python.items()}
        given.update({original.get(name, name): value for name, value in named.items()})
        # Frameworks pass a default on as if the model had said it. None is ours, and means that
        # nothing was said.
        return {
            name: value
            for name, value in given.items()
            if value is not None or name not in self.optional
        }


def typed_function(
    spec: ToolSpec, answer: Callable[[Arguments], JsonValue]
) -> Callable[..., JsonValue]:
    """Make a function with the name, the text and the signature of a tool spec."""
    shape = _Shape(spec)

    def function(*values: object, **named: object) -> JsonValue:
        return answer(shape.arguments(values, named))

    return _dressed(function, spec, shape)


def typed_afunction(
    spec: ToolSpec, answer: Callable[[Arguments], Awaitable[JsonValue]]
) -> Callable[..., Awaitable[JsonValue]]:
    """As `typed_function`, but async."""
    shape = _Shape(spec)

    async def function(*values: object, **named: object) -> JsonValue:
        return await answer(shape.arguments(values, named))

    return _dressed(function, spec, shape)


def annotation(schema: Any, *, optional: bool = False) -> Any:
    """Return the Python type that comes nearest to a JSON schema."""
    mapping = isinstance(schema, Mapping)
    found = _annotation(cast("Mapping[str, Any]", schema)) if mapping else Any
    return Union[found, None] if optional else found  # noqa: UP007 - members known at run time


def _annotation(schema: Mapping[str, Any]) -> Any:
    values = schema.get("enum")
    if values and all(isinstance(value, str | int | None) for value in values):
        return subscript(Literal, tuple(values))
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = cast("list[str]", kind)
        return subscript(Union, tuple(_annotation({**schema, "type": one}) for one in kinds))
    if kind == "array":
        return subscript(list, annotation(schema.get("items")))
    return _TYPES.get(str(kind), Any)


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return True
    known = cast("Mapping[str, Any]", schema)
    kind = known.get("type", "null")
    return "null" in ([kind] if isinstance(kind, str) else kind) or None in known.get("enum", ())


def _python_names(names: list[str]) -> dict[str, str]:
    """Give every parameter a name that Python can write, and no two the same."""
    chosen: dict[str, str] = {}
    for name in names:
        python = "".join(sign if sign.isalnum() or sign == "_" else "_" for sign in name)
        if not python.isidentifier():
            python = f"_{python}"
        while keyword.iskeyword(python) or python in chosen.values():
            python += "_"
        chosen[name] = python
    return chosen


def _doc(spec: ToolSpec, python: Mapping[str, str], properties: Mapping[str, Any]) -> str:
    lines = [
        f"    {python[name]}: {text}"
        for name in python
        if isinstance(properties[name], Mapping)
        and (text := " ".join(str(properties[name].get("description", "")).split()))
    ]
    return "\n".join([spec.description, *(["", "Args:", *lines] if lines else [])])


def _dressed(function: F, spec: ToolSpec, shape: _Shape) -> F:
    function.__name__ = function.__qualname__ = spec.name
    function.__doc__ = shape.doc
    signature = Signature(shape.parameters, return_annotation=Any)
    setattr(function, "__signature__", signature)  # noqa: B010 - inspect reads it, no type has it
    function.__annotations__ = {
        **{parameter.name: parameter.annotation for parameter in shape.parameters},
        "return": Any,
    }
    return function
