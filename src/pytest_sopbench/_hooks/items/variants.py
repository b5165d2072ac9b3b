"""Variants: a task under another SOP or other inputs, made after all runs that count.

Such an item always passes: that a task cannot be solved without its SOP is no failure. What came
of it goes to the process that prints the summary on its report.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from os import PathLike
from typing import Any, Final

import pytest

from pytest_sopbench._core.hiding import harmless
from pytest_sopbench._core.variants import OpenTold, Told, add, findings, joined
from pytest_sopbench._hooks.items import fixtures
from pytest_sopbench._hooks.session.domains import TaskRef
from pytest_sopbench._hooks.session.session import SESSION, SopSession
from pytest_sopbench._hooks.session.variants import VARIANT, variants_in
from pytest_sopbench._hooks.settings.marks import encoded, encoded_label
from pytest_sopbench._reports.terminal.gate import variant_lines
from pytest_sopbench._reports.text import one_line

TOLD: Final = "sop_variant"
"""On the report of a variant: domain, agent, variant, task and outcome."""

_TOLD = pytest.StashKey[list[str]]()


def check_variant(request: pytest.FixtureRequest) -> None:
    """Be the body of the test of a variant: make its run, however that ends."""
    item = request.node
    ref: TaskRef = item.stash[VARIANT]
    done = fixtures.variant(request, ref)
    task = done.task.id
    outcome = done.verdict.outcome.value
    item.stash[_TOLD] = [ref.key.domain, ref.key.agent, ref.variant, task, outcome]


class SopVariant(pytest.Function):
    """The item of one variant of a task."""

    def reportinfo(self) -> tuple[PathLike[str] | str, int | None, str]:
        ref = self.stash[VARIANT]
        label = self.config.stash[SESSION].label_of(ref.key.agent)
        by = "" if label is None else f"[{label}]"
        return self.path, ref.line - 1, harmless(one_line(f"{ref.key.domain}[{ref.key.task}]{by}"))


def variant_items(
    sop: SopSession, parent: pytest.Module, refs: Callable[[], Iterator[tuple[TaskRef, object]]]
) -> Iterator[pytest.Item]:
    """Yield the items of the variants of these runs; the second of a pair is its `callspec`."""
    if not sop.options.variants:
        return
    make: Callable[..., SopVariant] = SopVariant.from_parent  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - pytest leaves keywords untyped
    variants = variants_in(sop)
    for original, call in refs():
        task = original.key.task
        for ref in variants.refs(original):
            label = sop.label_of(ref.key.agent)
            plain = f"{encoded(task)}/v-{ref.variant}"
            name = plain if label is None else f"{plain}[{encoded_label(label)}]"
            item = make(parent, name=name, originalname=plain, callobj=check_variant, callspec=call)
            item.stash[VARIANT] = ref
            yield item


class VariantItems:
    """The hooks around items of variants, in the process that runs them."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put variants behind all that counts: what ends a session early ends them first."""
        items.sort(key=lambda item: VARIANT in item.stash)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        report = yield
        told = item.stash.get(_TOLD, None)
        if told is not None and call.when == "call":
            setattr(report, TOLD, told)
        return report


# What variants of the tasks came to, kept apart from all runs that count.

NONE: Final = "variant: none came to its end; only items of a domain's own rows have variants"


class VariantSummary:
    """Enters the outcome of each variant as its report arrives, and tells what they say."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._told: OpenTold = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told: list[str] | None = report.__dict__.pop(TOLD, None)
        if told is not None:
            domain, agent, name, task, outcome = told
            add(self._told, (domain, agent, name, task), outcome)
            self._note(self._told)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Leave them in one order before the results are closed: they arrive in any."""
        if self._told:
            self._note(joined([self._told]))
        return (yield)

    def _note(self, told: Told) -> None:
        self._sop.recorded = replace(self._sop.recorded, variants=told)

    @pytest.hookimpl
    def pytest_sop_summary(self) -> list[str]:
        found = findings(self._told, self._sop.plan.made.items())
        return [*variant_lines([*found])] or [NONE]
