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
    wrong = ungated_failures(page)
    return f"{wrong}, and no gate was asked" if wrong else "No gate was asked"


def ungated_failures(page: SessionPage) -> str:
    """Say why a session is no success that was asked no gate; nothing where it is one.

    What is forgiven by name is none: an answer that may be wrong, a rule that may be broken.
    """
    runs = [one for one in page.asked if one.outcome is not Outcome.CORRECT]
    never = sum(one.outcome is Outcome.NOT_RUN for one in runs)
    rest = f", {never} of them never started" if never else ""
    if runs:
        if page.leaderboard is not None:
            # Two agents are never counted as one.
            return f"{counted(len(runs), 'run is', 'runs are')} not correct{rest}"
        is_are = "is" if len(runs) == 1 else "are"
        return f"{len(runs)} of {counted(len(page.asked), 'run')} {is_are} not correct{rest}"
    must = sum(bool(page.forgiven.unforgiven(one)) for one in page.records)
    return f"{counted(must, 'run')} broke a rule of severity must" if must else ""
