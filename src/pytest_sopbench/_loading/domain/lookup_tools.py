"""Tools without code: check that each serves what it may, and never an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_sopbench._core.model.task import LookupTool, ToolSpec
from pytest_sopbench._loading.files.suggestions import did_you_mean, listed
from pytest_sopbench._loading.metadata.read import Described
from pytest_sopbench._loading.metadata.schema import LookupShape
from pytest_sopbench.errors import ToolSpecError

from .layout import Layout
from .tool_specs import parameter_names


def lookup_tools(
    described: Described, layout: Layout, specs: Sequence[ToolSpec]
) -> Mapping[str, LookupTool]:
    """The entries of `tools`, by name.

    Raises:
        ToolSpecError: no spec has the name; a column or a parameter does not exist; the entry
            would serve, or compare with, an expected answer or a private column.
    """
    by_name = {spec.name: spec for spec in specs}
    tools: dict[str, LookupTool] = {}
    for name, entry in described.metadata.tools.items():
        if name not in by_name:
            raise ToolSpecError(
                described.path,
                f"key 'tools.{name}': no tool spec has this name",
                hint=did_you_mean(name, by_name)
                or f"toolspecs.json has {listed(by_name) or 'no tool'}",
            )
        _Entry(described, layout, by_name[name], entry).check()
        tools[name] = LookupTool(
            name=name,
            key=tuple(entry.key),
            check=tuple(entry.check),
            returns=tuple(entry.returns),
            missing=entry.missing,
            result=entry.result,
        )
    return tools


def unserved(specs: Iterable[ToolSpec], tools: Mapping[str, LookupTool]) -> str:
    """A warning of the tools that nothing can answer for, or an empty string."""
    names = [spec.name for spec in specs if spec.name not in tools]
    if not names:
        return ""
    return (
        f"nothing answers for {listed(names)}: there is no tools.py,"
        " and 'tools' has no entry; calls of them fail"
    )


class _Entry:
    """One entry of `tools` with all that it is checked against."""

    def __init__(
        self, described: Described, layout: Layout, spec: ToolSpec, entry: LookupShape
    ) -> None:
        self._place = described.path, f"tools.{spec.name}"
        self._layout = layout
        self._spec = spec
        self._entry = entry

    def check(self) -> None:
        entry = self._entry
        constant = "result" in entry.model_fields_set
        if constant and entry.returns:
            raise _error(self._place, "", "has both 'returns' and 'result'", "keep one of them")
        if not constant and not entry.returns:
            raise _error(
                self._place,
                "",
                "says nothing to serve",
                "add 'returns' (columns) or 'result' (a constant)",
            )
        for name in entry.returns:
            self._check_column("returns", name, "would hand the agent the expected answer")
            if name in self._layout.private:
                raise _error(
                    self._place,
                    ".returns",
                    f"{name!r} is a private column",
                    "private columns never reach the agent; take it off",
                )
        for key, names in (("key", entry.key), ("check", entry.check)):
            for name in names:
                self._check_column(key, name, "would tell the agent when its answer is right")
                self._check_parameter(key, name)

    def _check_column(self, key: str, name: str, danger: str) -> None:
        layout = self._layout
        known = (*layout.inputs, *layout.results)
        if name in known:
            return
        about = {layout.tags, layout.acceptable, layout.disagreement, *layout.outputs}
        if name in about:
            raise _error(
                self._place,
                f".{key}",
                f"{name!r} speaks about the answer, and {danger}",
                "take it off",
            )
        raise _error(
            self._place,
            f".{key}",
            f"the data file has no column {name!r}",
            did_you_mean(name, known) or f"it has {listed(known)}",
        )

    def _check_parameter(self, key: str, name: str) -> None:
        parameters = parameter_names(self._spec)
        if name not in parameters:
            raise _error(
                self._place,
                f".{key}",
                f"the tool has no parameter {name!r}",
                did_you_mean(name, parameters) or f"its parameters: {listed(parameters) or 'none'}",
            )


def _error(place: tuple[Path, str], key: str, problem: str, hint: str) -> ToolSpecError:
    path, entry = place
    return ToolSpecError(path, f"key '{entry}{key}': {problem}", hint=hint)
