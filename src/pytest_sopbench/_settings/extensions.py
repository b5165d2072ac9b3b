"""Metrics and report formats of other packages, found by their entry points.

Packages are read when a session or a command needs them, and never at the start of pytest. What a
package brings is its own code: whatever goes wrong in it is told with its name and entry point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from pytest_sopbench._core.gates.conditions import COMPARISON_GATES, POOLED, TASK, UNAVAILABLE
from pytest_sopbench._core.hiding import Mask, ready_to_cut
from pytest_sopbench._core.metrics.metric import (
    CHANCE,
    METRICS,
    PAID,
    Metric,
    from_outside,
    set_outside_metrics,
)
from pytest_sopbench._core.metrics.summary import EMPTY
from pytest_sopbench._core.metrics.total import summary_to_json
from pytest_sopbench._core.model.usage import COUNTS
from pytest_sopbench.errors import ExtensionError

METRIC_GROUP: Final = "pytest_sopbench.metrics"
FORMAT_GROUP: Final = "pytest_sopbench.report_formats"

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_KEYS: Final = frozenset(
    {"documents", "by_class", "measured", "field", "domains", "mean", "pooled"}
)
"""Keys beside a metric in JSON that an empty summary does not have."""

_COLUMNS: Final = frozenset(
    {
        *("domain", "task", "trial", "agent", "outcome", "may_fail", "change", "reason", "fields"),
        *("wrong_fields", "rules_broken", "rules_forgiven", "calls", "duration_s", "model"),
        *COUNTS,
    }
)
"""Columns of a table of runs that are no metrics."""


def source_of(point: EntryPoint) -> str:
    """Return the package of an entry point, with its version, and the entry point itself."""
    package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "a package"
    return f"{package} ({point.name} = {point.value})"


def loaded(point: EntryPoint, mask: Mask = ready_to_cut) -> object:
    """Return what an entry point names.

    Raises:
        ExtensionError: it cannot be imported.
    """
    try:
        found: object = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        # The import of a package may also end the process.
        why = f"{type(fault).__name__}: {mask(' '.join(str(fault).split()))[:200]}"
        msg = f"{source_of(point)}: the entry point cannot be loaded: {why}"
        raise ExtensionError(msg, hint="mend the package, or uninstall it") from fault
    return found


def load_metrics(mask: Mask = ready_to_cut) -> None:
    """Put the metrics of the installed packages into the table of metrics.

    Those of an earlier call are taken out, so that the table is what is installed.

    Args:
        mask: takes secrets out of what is said of a metric that fails.

    Raises:
        ExtensionError: one cannot be imported, is no `Metric`, or has a name that is taken.
    """
    set_outside_metrics(())
    points = entry_points(group=METRIC_GROUP)
    taken = {**dict.fromkeys((*METRICS, CHANCE, *summary_to_json(EMPTY), *_KEYS), "the plugin")}
    gates = {one.gate: "the plugin" for one in (*METRICS.values(), *PAID.values())}
    gates |= dict.fromkeys((TASK, UNAVAILABLE, *COMPARISON_GATES, POOLED, "field"), "the plugin")
    columns = dict.fromkeys(_COLUMNS | {one.column for one in METRICS.values()}, "the plugin")
    found: list[Metric] = []
    for point in sorted(points, key=lambda one: (one.name, one.value)):
        metric, source = _metric(point, mask), source_of(point)
        for what, name, known in (
            ("name", metric.name, taken),
            ("gate", metric.gate, gates),
            ("column", metric.column, columns),
        ):
            if name and name in known:
                msg = f"{source}: the {what} {name!r} is taken by {known[name]}"
                raise ExtensionError(msg, hint=f"give the metric another {what}")
            known[name] = source
        found.append(from_outside(metric, source, mask))
    set_outside_metrics(found)


def _metric(point: EntryPoint, mask: Mask) -> Metric:
    metric = loaded(point, mask)
    if not isinstance(metric, Metric):
        msg = f"{source_of(point)}: no pytest_sopbench.Metric, but {type(metric).__name__}"
        raise ExtensionError(msg, hint="name a module and its metric: package.module:METRIC")
    for why in _faults(metric, point.name):
        msg = f"{source_of(point)}: {why}"
        raise ExtensionError(msg)
    return metric


def _faults(metric: Metric, name: str) -> Iterator[str]:
    # Whoever makes a metric may pass anything, since Python checks no types.
    if metric.name != name:
        yield f"the metric is called {metric.name!r}, and its entry point {name!r}"
    words = {"name": metric.name, "gate": metric.gate, "column": metric.column}
    for what, word in words.items():
        if not isinstance(word, str) or (word and not _NAME.fullmatch(word)):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
            yield f"{what}={word!r}: small letters, digits and _ expected"
    for what, word in {"label": metric.label, "unit": metric.unit}.items():
        if not isinstance(word, str) or not word.isprintable():  # pyright: ignore[reportUnnecessaryIsInstance] - as above
            yield f"{what}={word!r}: a text of one line expected"
    if not metric.label:
        yield "label: a text expected, which the summary and a gate say"
    if metric.better not in {"higher", "lower"}:
        yield f"better={metric.better!r}: 'higher' or 'lower' expected"
    if not callable(metric.of) or not callable(metric.applies):
        yield "of: a function expected, which is given a RunRecord"
    if metric.counts is not None:
        yield "counts: only metrics of the plugin have it; say with `of` what a run counts"


def outside_metrics() -> dict[str, str]:
    """Return the packages of the metrics that are not the plugin's, by their gates and names."""
    found = [one for one in METRICS.values() if one.source]
    return {name: one.source for one in found for name in (one.gate, one.name) if name}


def missing_metrics(had: Mapping[str, str]) -> list[str]:
    """Return the packages of metrics that a session had, and that are not installed here.

    Args:
        had: as `outside_metrics` was when it was run.
    """
    here = outside_metrics()
    return sorted({package for name, package in had.items() if name not in here})


def installed_formats() -> list[EntryPoint]:
    """Return the report formats of the installed packages; none is imported."""
    return sorted(entry_points(group=FORMAT_GROUP), key=lambda one: (one.name, one.value))
