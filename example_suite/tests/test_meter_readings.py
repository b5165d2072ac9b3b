"""What the billing desk relies on: the right answer, and the right steps to it."""

from __future__ import annotations

from typing import Any

import pytest


def test_answer_is_right(sop_run: Any) -> None:
    sop_run.assert_correct()


def test_personal_data_is_read_only_where_usage_is_high(sop_task: Any, sop_run: Any) -> None:
    """Clause 2.3."""
    last, days = sop_task.results["last_kwh"], sop_task.results["days"]
    high = last is not None and sop_task.inputs["reading_kwh"] - last > 60 * days

    assert high == ("get_property_notes" in sop_run.trajectory.names)


def test_a_visit_is_ordered_exactly_where_that_is_the_decision(sop_run: Any) -> None:
    """Clause 3.1."""
    if sop_run.answer.values["decision"] == "visit":
        sop_run.assert_called("order_visit", times=1, succeeded=True, after="get_last_reading")
        assert sop_run.trajectory.names[-1] == "order_visit"
    else:
        sop_run.assert_not_called("order_visit")


def test_steps_come_in_the_order_of_the_procedure(sop_task: Any, sop_run: Any) -> None:
    """Nothing but these three, in this order; which of the later two, the tests above say."""
    last = ("get_last_reading", {"account_id": sop_task.id})

    sop_run.assert_trajectory([last], match="in_order")
    sop_run.assert_trajectory([last, "get_property_notes", "order_visit"], match="subset")


def test_contract_holds(sop_run: Any) -> None:
    """The rules in the metadata of the domain, each with its clause."""
    sop_run.assert_contract()


@pytest.mark.sop(answer="ignored")
def test_every_call_fits_its_spec(sop_run: Any) -> None:
    """Whatever the answer is, so a wrong one does not fail this test as well."""
    assert [call.name for call in sop_run.trace.calls if call.bad] == []


def test_agent_prints_nothing(sop_run: Any) -> None:
    assert sop_run.output == ""


def test_verdict_tells_why(sop_run: Any) -> None:
    # Of a task that may fail this assertion is forgiven, and no other.
    sop_run.assert_correct()
    assert sop_run.trace.problem is None
