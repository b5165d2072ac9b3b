"""Find the agent that `--agent` names."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from importlib.metadata import EntryPoints, entry_points
from os.path import isfile
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Final, NoReturn, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.protocols import (
    AgentContext,
    AgentSource,
    ToolCaller,
)
from pytest_sopbench._core.values.json import STRICT, JsonValue
from pytest_sopbench._running.importing import place_of
from pytest_sopbench._running.observing import message_of, name_of
from pytest_sopbench._running.tools.toolbox import Tools
from pytest_sopbench._running.wire.child import EXEC, LINES, ExecAgent, LinesAgent
from pytest_sopbench._running.wire.request import FAILURE
from pytest_sopbench._running.wire.service import HTTP, resolve_service
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import AgentSpecError

# The reference policy of a domain, as an agent: what a run that follows the SOP looks like.

REFERENCE_POLICY: Final = "reference-policy"
"""The spec that names this agent."""


def _reference_policy(_: str, context: AgentContext) -> object:
    """Return an agent that answers each task with the policy of the task's own domain."""
    policy = cache(context.policy)
    for name in context.domains:
        policy(name)

    def reference_policy(
        inputs: Mapping[str, JsonValue], tools: ToolCaller, domain: str
    ) -> Mapping[str, JsonValue]:
        return policy(domain)(inputs, tools.call)

    return reference_policy


# An agent that does what a file says, task by task. `scripted:` has such files written by hand, for
# tutorials and for tests of tests. `replayed:` reads outputs that were recorded elsewhere, which is
# how people come from another benchmark.


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What the agent does on one task; `domain` is empty if the line says nothing of it."""

    task: str
    line: int
    domain: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    answer: object = None
    raises: str | None = None
    usage: object = None


class ScriptedAgent:
    """Makes the calls of a script, whatever comes of them, and returns its answer."""

    def __init__(self, path: Path, scripts: Mapping[tuple[str, str], Script]) -> None:
        self._path = path
        self._scripts = scripts

    def __call__(self, tools: Tools, task_id: str, domain: str) -> object:
        # A line that names the domain goes before one that names none.
        script = self._scripts.get((domain, task_id)) or self._scripts.get(("", task_id))
        if script is None:
            msg = f"{self._path}: it says nothing of task {task_id!r} of {domain}"
            raise LookupError(msg)
        for name, arguments in script.calls:
            tools.execute_tool(name, arguments)
        if script.usage is not None:
            tools.report(usage=script.usage)
        if script.raises is not None:
            raise RuntimeError(script.raises)
        return script.answer


def _scripted(spec: str, context: AgentContext) -> object:
    path = context.path / from_home(spec.removeprefix(SCRIPTED))
    scripts: dict[tuple[str, str], Script] = {}
    for script in _scripts(path):
        _enter(path, scripts, script, "task", "say once what is done on a task")
        _check_task(path, script, context.domains, 'name its domain beside it: "domain": "NAME"')
    return ScriptedAgent(path, scripts)


def _replayed(spec: str, context: AgentContext) -> object:
    path = context.path / from_home(spec.removeprefix(REPLAYED))
    scripts: dict[tuple[str, str], Script] = {}
    for script in _outputs(path):
        _enter(path, scripts, script, "the id", _REPLAYED_EXAMPLE)
    for script in scripts.values():
        _check_task(path, script, context.domains, "its ids are those of the tasks")
    for name, domain in context.domains.items():
        # A task without an output would spoil a rate unsaid.
        missing = [
            task
            for task in domain.task_ids
            if (name, task) not in scripts and ("", task) not in scripts
        ]
        if missing:
            shown = ", ".join(missing[:3])
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""  # noqa: PLR2004
            msg = f"{path}: no output of {shown}{more}, of {len(domain.task_ids)} tasks of {name}"
            raise AgentSpecError(msg, hint="record them, or write null if there was none")
    return ScriptedAgent(path, scripts)


def _enter(
    path: Path, scripts: dict[tuple[str, str], Script], script: Script, noun: str, hint: str
) -> None:
    key = (script.domain, script.task)
    if key in scripts:
        problem = f"{noun} {script.task!r} stands in line {scripts[key].line} already"
        _refuse_line(path, script.line, problem, hint)
    scripts[key] = script


def _check_task(path: Path, script: Script, domains: Mapping[str, Domain], hint: str) -> None:
    """Refuse a task that nobody has; domains that are not run in this session are passed over."""
    asked = [one for name, one in domains.items() if script.domain in {"", name}]
    known = [task for one in asked for task in one.task_ids]
    if known and script.task not in known:
        near = get_close_matches(script.task, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else hint
        _refuse_line(path, script.line, f"there is no task {script.task!r}", hint)


def _text_of(path: Path, prefix: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8"
        msg = f"{path}: {reason}"
        raise AgentSpecError(msg, hint=f"{prefix}FILE names a file of JSON lines") from None


def _refuse_line(path: Path, line: int, problem: str, hint: str) -> NoReturn:
    msg = f"{path}, line {line}: {problem}"
    raise AgentSpecError(msg, hint=hint)


def _as_object(path: Path, line: int, value: object, hint: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        _refuse_line(path, line, "no object", hint)
    return cast("dict[str, Any]", value)


# The lines of `scripted:`, or a list of such objects.

SCRIPTED: Final = "scripted:"
KEYS: Final = ("task", "domain", "calls", "answer", "raises", "usage")
CALL_KEYS: Final = ("name", "arguments")

_EXAMPLE: Final = (
    'write {"task": "T1", "calls": [{"name": "TOOL", "arguments": {}}], "answer": {"FIELD": "..."}}'
)


def _scripts(path: Path) -> Iterator[Script]:
    found = False
    for line, value in _values(path, _text_of(path, SCRIPTED)):
        found = True
        yield _script(path, line, value)
    if not found:
        _refuse_line(path, 1, "it is empty", _EXAMPLE)


def _values(path: Path, text: str) -> Iterator[tuple[int, object]]:
    """Yield the objects of a list, or those that stand one after another, with their lines."""
    place, is_list = _after(text, 0, " \t\r\n"), False
    if text.startswith("[", place):
        place, is_list = _after(text, place + 1, " \t\r\n"), True
    while place < len(text) and not (is_list and text[place] == "]"):
        line = text.count("\n", 0, place) + 1
        try:
            value, place = STRICT.raw_decode(text, place)
        except json.JSONDecodeError as fault:
            _refuse_line(path, fault.lineno, f"no JSON: {fault.msg}", _EXAMPLE)
        except (ValueError, RecursionError) as fault:
            _refuse_line(path, line, f"no JSON: {fault}", _EXAMPLE)
        yield line, value
        place = _after(text, place, " \t\r\n,")
    if is_list and text[place:].strip() != "]":
        _refuse_line(path, text.count("\n") + 1, "the list does not end", "write ] behind the last")


def _after(text: str, place: int, passed: str) -> int:
    while place < len(text) and text[place] in passed:
        place += 1
    return place


def _script(path: Path, line: int, value: object) -> Script:
    held = _as_object(path, line, value, _EXAMPLE)
    _check_keys(path, line, held, KEYS)
    for key in ("task", "domain", "raises"):
        if key in held and (not isinstance(held[key], str) or not held[key]):
            _refuse_line(path, line, f"{key!r} is no text", _EXAMPLE)
    if "task" not in held:
        _refuse_line(path, line, "'task' is missing", _EXAMPLE)
    if "answer" not in held and "raises" not in held:
        hint = '"answer" may be an object, a text or null; "raises" is the text of an error'
        _refuse_line(path, line, "neither 'answer' nor 'raises' stands there", hint)
    calls = held.get("calls", [])
    if not isinstance(calls, list):
        _refuse_line(path, line, "'calls' is no list", _EXAMPLE)
    made = tuple(_call(path, line, one) for one in cast("list[object]", calls))
    told: dict[str, Any] = {**held, "calls": made}
    return Script(line=line, **told)


def _call(path: Path, line: int, value: object) -> tuple[str, Any]:
    if not isinstance(value, dict):
        _refuse_line(path, line, "a call is no object", _EXAMPLE)
    held = cast("dict[str, Any]", value)
    _check_keys(path, line, held, CALL_KEYS)
    name = held.get("name")
    if not isinstance(name, str) or not name:
        _refuse_line(path, line, "a call has no 'name'", _EXAMPLE)
    return name, held.get("arguments", {})


def _check_keys(path: Path, line: int, held: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in held:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it may be {', '.join(known)}"
            _refuse_line(path, line, f"unknown key {key!r}", hint)


# The lines of `replayed:`.

REPLAYED: Final = "replayed:"
OUTPUTS: Final = ("output", "model_response")
"""The keys under which a line may have what the agent returned; exactly one of them."""

_REPLAYED_EXAMPLE: Final = (
    'write {"id": "T1", "output": "..."} on each line, or "model_response" for output'
)


def _outputs(path: Path) -> Iterator[Script]:
    found = False
    # Not at the other line ends of Unicode, which may stand inside an output.
    for line, one in enumerate(_text_of(path, REPLAYED).split("\n"), 1):
        if one.strip():
            found = True
            yield _output(path, line, one)
    if not found:
        _refuse_line(path, 1, "it is empty", _REPLAYED_EXAMPLE)


def _output(path: Path, line: int, text: str) -> Script:
    refuse = partial(_refuse_line, path, line, hint=_REPLAYED_EXAMPLE)
    try:
        value: object = STRICT.decode(text)
    except (ValueError, RecursionError) as fault:
        refuse(f"no JSON: {fault}")
    held = _as_object(path, line, value, _REPLAYED_EXAMPLE)
    task, domain = held.get("id"), held.get("domain", "")
    if isinstance(task, int) and not isinstance(task, bool):
        task = str(task)
    if not isinstance(task, str) or not task:
        refuse("'id' is missing, or is no text")
    if not isinstance(domain, str):
        refuse("'domain' is no text")
    given = [key for key in OUTPUTS if key in held]
    if len(given) != 1:
        what = "both 'output' and" if given else "neither 'output' nor"
        refuse(f"{what} 'model_response' stands there")
    answer = held[given[0]]
    if failure := {key: held[key] for key in FAILURE if held.get(key) is not None}:
        answer = {"output": answer, **failure}
    return Script(task=task, line=line, answer=answer, domain=domain)


# Agents that are objects of Python: a name that a package has registered, or what a module has.

GROUP: Final = "pytest_sopbench.agents"
"""The entry-point group in which other packages register agents by name."""


def _registered(spec: str, context: AgentContext) -> object:
    if " " in spec or Path(spec).suffix in _PROGRAMS:
        msg = f"agent {spec!r}: no agent is registered by that name"
        raise AgentSpecError(msg, hint=f"write {EXEC}{spec} if it is a program, in quotes")
    if "/" in spec or spec.endswith(".py"):
        msg = f"agent {spec!r}: a path, and an agent is named by its module"
        raise AgentSpecError(msg, hint=f"write {_as_written(spec)}")
    if _is_module(spec, context.path):
        msg = f"agent {spec!r}: no agent is registered by that name, and it is a module"
        raise AgentSpecError(msg, hint=f"did you mean {spec}:agent?")
    known: EntryPoints = entry_points(group=GROUP)
    for entry in known:
        if entry.name == spec:
            try:
                loaded: object = entry.load()
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                raise AgentSpecError(_import_failure(spec, entry.value, error)) from error
            return loaded
    names = sorted({REFERENCE_POLICY, *known.names})
    near = get_close_matches(spec, names, n=1)
    told = f"did you mean {near[0]}? " if near else ""
    msg = f"agent {spec!r}: no agent is registered by that name (registered: {', '.join(names)})"
    raise AgentSpecError(msg, hint=f"{told}{context.forms}")


def _imported(spec: str, context: AgentContext) -> object:
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        msg = f"agent {spec!r}: the module or the attribute is missing"
        raise AgentSpecError(msg, hint=context.forms)
    if "/" in module_name or module_name.endswith(".py"):
        msg = f"agent {spec!r}: a path, and an agent is named by its module"
        raise AgentSpecError(msg, hint=f"write {_as_written(module_name, attribute)}")
    module = _module(spec, module_name, context.path)
    return _attribute(spec, module, attribute, context.forms)


_PROGRAMS: Final = frozenset({".js", ".mjs", ".pl", ".rb", ".sh", ".ts"})
_LIKE_ADDRESS: Final = re.compile(r"[\w.-]+:[0-9]+(/|$)")


def _module(spec: str, name: str, path: Path) -> ModuleType:
    folder = str(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            msg = f"agent {spec!r}: there is no module {error.name!r}"
            hint = f"looked in {folder} and in what is installed for {sys.executable}"
            if _LIKE_ADDRESS.match(spec):
                hint = f"write http://{spec} if it is a service"
            elif near := _sibling(error.name, path):
                hint = f"did you mean {spec.replace(error.name, near, 1)}? {hint}"
            raise AgentSpecError(msg, hint=hint) from None
        raise AgentSpecError(_import_failure(spec, name, error)) from error
    except BaseException as error:
        raise AgentSpecError(_import_failure(spec, name, error)) from error


def _sibling(missing: str, path: Path) -> str:
    """Return the module most like one that is missing, in the package that should hold it."""
    parent, _, name = missing.rpartition(".")
    package = sys.modules.get(parent)
    folders = [str(path)] if not parent else list(getattr(package, "__path__", ()))
    near = get_close_matches(name, [one.name for one in iter_modules(folders)], n=1)
    return f"{parent}.{near[0]}" if parent and near else "".join(near)


def _as_written(spec: str, attribute: str = "agent") -> str:
    """Return a path to a file as the name of its module, with the attribute behind it."""
    module = spec.removeprefix("./").removesuffix(".py").strip("/").replace("/", ".")
    return f"{module}:{attribute}"


def _is_module(name: str, path: Path) -> bool:
    """Tell whether a module of this name lies in a folder; none is imported to find out."""
    place = path.joinpath(*name.split("."))
    # A name that no disk takes is none either, though a `Path` would raise.
    return any(map(isfile, (place.with_suffix(".py"), place / "__init__.py")))


def _import_failure(spec: str, name: str, error: BaseException) -> str:
    place = place_of(error)
    told = f"{name_of(error)}: {message_of(error)}"
    where = f"\n  at {place}" if place else ""
    return f"agent {spec!r}: importing {name} failed: {told}{where}"


def _attribute(spec: str, module: ModuleType, attribute: str, forms: str) -> object:
    found: Any = module
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = [name for name in vars(module) if not name.startswith("_")]
            near = get_close_matches(part, names, n=3, cutoff=0.4)
            told = f"did you mean {' or '.join(near)}?" if near else forms
            msg = f"agent {spec!r}: module {module.__name__!r} has no attribute {attribute!r}"
            raise AgentSpecError(msg, hint=told) from None
    return found


# The kinds of spec.


@dataclass(frozen=True, slots=True)
class SpecKind:
    """One kind of agent spec, as `AgentSource` has it; a kind without a form is not told of."""

    form: str
    claims: Callable[[str], bool]
    resolve: Callable[[str, AgentContext], object]


SOURCES: Final[tuple[AgentSource, ...]] = (
    SpecKind(REFERENCE_POLICY, lambda spec: spec == REFERENCE_POLICY, _reference_policy),
    SpecKind(f"{SCRIPTED}FILE", lambda spec: spec.startswith(SCRIPTED), _scripted),
    SpecKind(f"{REPLAYED}FILE", lambda spec: spec.startswith(REPLAYED), _replayed),
    SpecKind("http://HOST/PATH", lambda spec: spec.startswith(HTTP), resolve_service),
    SpecKind(f"{EXEC}COMMAND", lambda spec: spec.startswith(EXEC), ExecAgent),
    SpecKind(f"{LINES}COMMAND", lambda spec: spec.startswith(LINES), LinesAgent),
    SpecKind("a registered name", lambda spec: ":" not in spec, _registered),
    SpecKind("package.module:attribute", lambda _: True, _imported),
)
"""The kinds of agent spec that this room knows; the first that claims a spec resolves it."""


def forms_of(sources: Sequence[AgentSource]) -> str:
    """Say how an agent may be named."""
    forms = [source.form for source in reversed(sources) if source.form]
    return f"an agent is {', '.join(forms[:-1])}, or {forms[-1]}"
