"""What a test may demand of the calls of a run; a failure is its reason, and no traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pytest_sopbench._core.contract.rules import Contract, check_contract, contract_state
from pytest_sopbench._core.contract.ruling import RuleState
from pytest_sopbench._core.hiding.harmless import harmless
from pytest_sopbench._core.hiding.masking import masking
from pytest_sopbench._core.judging.procedure import has_shown
from pytest_sopbench._core.model.trace import ToolCall, Trace
from pytest_sopbench._core.model.trajectory import CallForms, expected_calls, trajectory_of
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._core.trajectory.arguments import ArgumentMode
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._loading.files.suggestions import did_you_mean, listed
from pytest_sopbench._reports.failure.assertion import TAKEN, WIDTH, contract_lines, unmet_lines
from pytest_sopbench._reports.failure.trajectory import departure_lines
from pytest_sopbench._reports.text.layout import cut, one_line

if TYPE_CHECKING:
    from pytest_sopbench._core.contract.equal_values import Known
    from pytest_sopbench._core.trajectory.calls import CallDemand, Unmet
    from pytest_sopbench._core.trajectory.departure import MatchMode

NO_CONTRACT = "the domain {domain} has no contract\nwrite one under 'contract' in its metadata"
NO_TOOL = """the test is wrong, whatever the agent did: the domain {domain} has no tool {name!r}
{hint}
calls of tools that do not exist lower the tool accuracy, and stand in sop_run.trace.calls"""
NO_CALL = "the run was stopped before it called a tool\nso it has shown nothing of the contract"


class Calls:
    """The calls of one run, as assertions see them; values that are shown are redacted."""

    def __init__(
        self,
        known: Callable[[], Known],
        trace: Trace,
        outcome: Outcome,
        redaction: Redaction,
        *,
        domain: str,
        tools: Sequence[str] = (),
    ) -> None:
        self._outcome = outcome
        self._known = known
        self._domain = domain
        self._tools = tools
        self._trace = trace
        self._redaction = redaction

    def match(
        self,
        expected: CallForms,
        match: MatchMode,
        arguments: ArgumentMode,
        per_tool: Mapping[str, ArgumentMode] | None,
    ) -> str:
        """Return why the trajectory does not match, or nothing."""
        with self._masking():
            from pytest_sopbench._core.trajectory.match import match_trajectory  # noqa: PLC0415 - only where calls are compared

            wanted = expected_calls(expected)
            found = match_trajectory(
                trajectory_of(self._trace),
                wanted,
                match=match,
                arguments=arguments,
                per_tool=per_tool,
            )
            return self._text(departure_lines(found, self._shown(), wanted, WIDTH, TAKEN))

    def called(self, demand: CallDemand) -> str:
        """Return why the demand is not met, or nothing.

        Raises:
            ValueError: it names what is no tool.
        """
        __tracebackhide__ = True
        self._check_tools((demand.name, *demand.before, *demand.after))
        with self._masking():
            from pytest_sopbench._core.trajectory.calls import unmet_call  # noqa: PLC0415 - only where calls are compared

            return self._unmet(demand.words(), unmet_call(demand, self._trace.calls))

    def not_called(self, name: str) -> str:
        """Return where the tool was called, or nothing.

        Raises:
            ValueError: the name is that of no tool.
        """
        __tracebackhide__ = True
        self._check_tools((name,))
        with self._masking():
            from pytest_sopbench._core.trajectory.calls import unwanted_call  # noqa: PLC0415 - only where calls are compared

            return self._unmet(f"{name} must not be called", unwanted_call(name, self._trace.calls))

    def _check_tools(self, asked: Iterable[str]) -> None:
        """Refuse names of no tool: what is said of them would hold, or fail, on every run."""
        __tracebackhide__ = True
        stranger = next((name for name in asked if name not in self._tools), None)
        if stranger is not None:
            known = f"its tools are {listed(self._tools)}" if self._tools else "it has no tools"
            near = did_you_mean(stranger, self._tools)
            raise ValueError(
                NO_TOOL.format(
                    domain=self._domain,
                    name=stranger,
                    hint=" ".join(filter(None, (f"{known};", near))).rstrip(";"),
                )
            )

    def contract(self, contract: Contract | None) -> str:
        """Return which rules are broken, or nothing where all that apply hold."""
        with self._masking():
            if contract is None:
                return NO_CONTRACT.format(domain=self._domain)
            results = check_contract(contract, self._trace, self._known())
            broken = [one for one in results if one.broken]
            if broken:
                return self._text(contract_lines(broken, self._shown()))
            shown = has_shown(self._trace, self._outcome)
            silent = contract_state(results, shown=shown) is RuleState.NOT_EXERCISED
            return NO_CALL if silent else ""

    def _unmet(self, words: str, unmet: Unmet | None) -> str:
        return "" if unmet is None else self._text(unmet_lines(words, unmet, self._shown()))

    def _shown(self) -> Sequence[ToolCall]:
        return tuple(self._redaction.call(call) for call in self._trace.calls)

    def _text(self, lines: Iterable[str]) -> str:
        said = list(lines)
        problem = self._trace.problem
        if said and problem is not None:
            # Why the calls stop where they do.
            said.append(cut(one_line(f"the agent raised {problem.type}: {problem.message}"), WIDTH))
        return harmless(self._redaction.text("\n".join(said)))

    def _masking(self) -> AbstractContextManager[None]:
        """Have values masked before they are cut, wherever a reason is worded."""
        return masking(self._redaction.text)


def names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Read what `before=` and `after=` take: the name of a tool, or several."""
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)
