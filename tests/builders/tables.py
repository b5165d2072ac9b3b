"""The tables that a metric, a report format and an option are rows of."""

from __future__ import annotations

from pytest_sopbench._core.gates.conditions import COMPARISON_GATES, gate_names
from pytest_sopbench._core.metrics.metric import CHANCE, METRICS, percent
from pytest_sopbench._reports.formats import FORMATS, PageFormat
from pytest_sopbench._settings import table
from pytest_sopbench._settings.table import TABLE

__all__ = [
    "CHANCE",
    "COMPARISON_GATES",
    "FORMATS",
    "METRICS",
    "TABLE",
    "PageFormat",
    "gate_names",
    "percent",
    "table",
]
