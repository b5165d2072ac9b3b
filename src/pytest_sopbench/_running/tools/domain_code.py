"""A domain's own code: `tools.py` and `policy.py`, imported under private names.

Whoever calls this has decided that the domain is trusted.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from itertools import count
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, NoReturn, TypeAlias, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.protocols import Policy
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.values.plain import to_json_value
from pytest_sopbench._running.observing.capture import Output, captured
from pytest_sopbench._running.observing.problem import is_of, is_ours, message_of, name_of
from pytest_sopbench.errors import LoadingError, ToolSpecError

from .manager import Manager, ManagerFactory
from .parameters import CannotFillError, Filling, plan_filling

Fault: TypeAlias = type[LoadingError]

_ROW, _FOLDER = "row", "domain_dir"
_numbers = count(1)
_importing = RLock()


def load_manager_factory(domain: Domain) -> ManagerFactory:
    """Import a domain's `tools.py` and return what makes its manager, once per run.

    The manager is the one class defined there whose name ends in `Manager` and that has a
    `process_tool_call`. Of its constructor's parameters, `row` is filled with a copy of the
    task's inputs and tool results, and `domain_dir` with the domain's folder.

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
        filling = _filling(kind, path)

    def make(task: Task) -> Manager:
        return _made(kind, filling, domain, task)

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


def _filling(kind: type[Any], path: Path) -> Filling:
    try:
        return plan_filling(inspect.signature(kind), required=(), wanted=(_ROW, _FOLDER))
    except CannotFillError as fault:
        raise ToolSpecError(
            path,
            f"{kind.__name__}() needs {fault.parameter!r}, which is not known here",
            hint=f"a manager may ask for {_ROW!r} and {_FOLDER!r}; give the others a default",
        ) from None


def _made(kind: type[Any], filling: Filling, domain: Domain, task: Task) -> Manager:
    row = to_json_value({**task.inputs, **task.results})
    values, named = filling.values({_ROW: row, _FOLDER: domain.folder})
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
