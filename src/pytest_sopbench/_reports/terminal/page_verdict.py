"""The verdict on a session in a few words, as the first line of every page says it."""

from __future__ import annotations

from pytest_sopbench._core.gates.conditions.summary_gates import GateState
from pytest_sopbench._core.gates.session_page import SessionPage
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.text.numbers import counted


def page_verdict(page: SessionPage) -> str:
    """Say what came of the gates, or that there is none."""
    states = {one.state for one in page.gates}
    several = len(page.gates) > 1
    if GateState.FAILS in states:
        return "A gate does not hold" if several else "The gate does not hold"
    if page.failures:
        return "The session failed"
    if page.not_evaluated:
        return "No gate was evaluated"
    if GateState.INCONCLUSIVE in states:
        return "Inconclusive"
    if states:
        return "All gates hold" if several else "The gate holds"
    never = sum(record.outcome is Outcome.NOT_RUN for record in page.records)
    rest = f", and {counted(never, 'run')} never started" if never else ""
    return f"No gate was asked{rest}"
