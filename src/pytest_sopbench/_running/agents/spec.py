"""Find the agent that `--agent` names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import EntryPoints, entry_points
from os.path import isfile
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Final

from pytest_sopbench._core.agent_source import AgentContext, AgentOptions, AgentSource
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.protocols import Policy
from pytest_sopbench._running.importing import place_of
from pytest_sopbench._running.observing.problem import message_of, name_of
from pytest_sopbench.errors import AgentSpecError, LoadingError

from .reference_policy import REFERENCE_POLICY, ReferencePolicy
from .replayed import ReplayedSource
from .scripted import ScriptedSource

GROUP: Final = "pytest_sopbench.agents"
"""The entry-point group in which other packages register agents by name."""

_LATER: Final = ("http:", "https:")


class _ReferencePolicySource:
    """`reference-policy`: the policy of each selected domain."""

    form = REFERENCE_POLICY

    def claims(self, spec: str) -> bool:
        return spec == REFERENCE_POLICY

    def resolve(self, _: str, context: AgentContext) -> object:
        agent = ReferencePolicy(context.policy)
        for name in context.domains:
            agent.policy(name)
        return agent


class _LaterSource:
    """Forms that the interface promises, and no module of a user's should be taken for."""

    form = ""

    def claims(self, spec: str) -> bool:
        return spec.startswith(_LATER)

    def resolve(self, spec: str, context: AgentContext) -> object:
        form = spec.partition(":")[0]
        msg = f"agent {spec!r}: agents of the form {form}: are not available in this version"
        raise AgentSpecError(msg, hint=context.forms)


class _RegisteredSource:
    """A name that a package has registered as an entry point."""

    form = "a registered name"

    def claims(self, spec: str) -> bool:
        return ":" not in spec

    def resolve(self, spec: str, context: AgentContext) -> object:
        if "/" in spec or spec.endswith(".py"):
            msg = f"agent {spec!r}: a path, and an agent is named by its module"
            raise AgentSpecError(msg, hint=f"write {_as_written(spec)}")
        if _is_module(spec, context.path):
            msg = f"agent {spec!r}: no agent is registered by that name, and it is a module"
            raise AgentSpecError(msg, hint=f"did you mean {spec}:agent?")
        return _registered(spec, context.forms)


class _ImportedSource:
    """`package.module:attribute`; it claims whatever no other source does."""

    form = "package.module:attribute"

    def claims(self, _: str) -> bool:
        return True

    def resolve(self, spec: str, context: AgentContext) -> object:
        module_name, _, attribute = spec.partition(":")
        if not module_name or not attribute:
            msg = f"agent {spec!r}: the module or the attribute is missing"
            raise AgentSpecError(msg, hint=context.forms)
        if "/" in module_name or module_name.endswith(".py"):
            msg = f"agent {spec!r}: a path, and an agent is named by its module"
            raise AgentSpecError(msg, hint=f"write {_as_written(module_name, attribute)}")
        module = _imported(spec, module_name, context.path)
        return _attribute(spec, module, attribute, context.forms)


SOURCES: Final[tuple[AgentSource, ...]] = (
    _ReferencePolicySource(),
    ScriptedSource(),
    ReplayedSource(),
    _LaterSource(),
    _RegisteredSource(),
    _ImportedSource(),
)
"""The kinds of agent spec that this room knows; the first that claims a spec resolves it."""


def forms_of(sources: Sequence[AgentSource]) -> str:
    """Say how an agent may be named."""
    forms = [source.form for source in reversed(sources) if source.form]
    return f"an agent is {', '.join(forms[:-1])}, or {forms[-1]}"


def resolve_agent(
    spec: str,
    *,
    path: Path,
    domains: Mapping[str, Domain] | Sequence[Domain] = (),
    policies: Callable[[str], Policy] | None = None,
    options: AgentOptions | None = None,
    sources: Sequence[AgentSource] = SOURCES,
) -> object:
    """Return the object that an agent spec names; no run is made.

    Args:
        spec: `package.module:attribute`, a registered name, `reference-policy`, or what another
            of the `sources` claims.
        path: the folder that is made importable: the current directory.
        domains: those selected; `reference-policy` needs a policy of each of them.
        policies: returns the policy of a domain by the domain's name; not given, the policies
            of `domains` are imported, so they must be trusted.
        options: what the session's options say of its agents.
        sources: the kinds of spec, in the order in which they are asked.

    Raises:
        AgentSpecError: there is no such agent, or importing it failed.
        LoadingError: a domain has no reference policy that can be used.
    """
    every = domains.values() if isinstance(domains, Mapping) else domains
    by_name = {domain.name: domain for domain in every}

    def load(name: str) -> Policy:
        from pytest_sopbench._running.tools.domain_code import load_policy  # noqa: PLC0415 - only where a domain has code

        if name not in by_name:
            raise LoadingError(name, "the reference policy was not asked for this domain")
        return load_policy(by_name[name])

    context = AgentContext(
        path=path,
        domains=by_name,
        policy=policies or load,
        options=options or AgentOptions(),
        forms=forms_of(sources),
    )
    source = next(source for source in sources if source.claims(spec))
    return source.resolve(spec, context)


def _registered(spec: str, forms: str) -> object:
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
    raise AgentSpecError(msg, hint=f"{told}{forms}")


def _imported(spec: str, name: str, path: Path) -> ModuleType:
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
            if near := _sibling(error.name, path):
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
    # A name that no disk takes is none either, where a `Path` would raise.
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
