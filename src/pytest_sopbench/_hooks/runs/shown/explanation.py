"""What is said of one run where its test fails, masked and harmless."""

from __future__ import annotations

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding.harmless import harmless
from pytest_sopbench._core.hiding.masking import masking
from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.session.domains.active_domain import TaskRef
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._reports.failure.task import failure_lines, next_lines

from .rerun_command import rerun_line, show_line


def explain_run(
    sop: SopSession, ref: TaskRef, task: Task, record: RunRecord, test: str = ""
) -> str:
    """Return why a run is not correct, and how to make it again.

    Args:
        sop: the session.
        ref: the run.
        task: its task.
        record: what came of it.
        test: the node id of the user's test that asked for it; empty for the built-in test.
    """
    domain = ref.domain.domain
    hidden = domain.private_columns
    redaction = sop.options.redaction
    inputs = {
        name: redaction.value(value) for name, value in task.inputs.items() if name not in hidden
    }
    with masking(redaction.text):
        lines = failure_lines(
            record,
            inputs=inputs,
            rerun=rerun_line(sop, ref, test),
            location=f"{sop.shown(domain.data_file)}:{task.line}",
            expected=expected_calls_of(sop, domain, ref.key.task),
            told_in=_told_in(sop, record),
        )
    lines += next_lines("", show_line(sop, record.key))
    return harmless(redaction.text("\n".join(lines)))


def expected_calls_of(sop: SopSession, domain: Domain, task: str) -> tuple[ExpectedCall, ...]:
    """Return the calls that are expected of a task, as they may be shown."""
    redaction = sop.options.redaction.of(domain.private_columns)
    return redaction.expected_calls(domain.expected_calls.get(task, ()))


def _told_in(sop: SopSession, record: RunRecord) -> str:
    """Return the task whose failure has shown the same traceback, or nothing."""
    if record.problem is None:
        return ""
    # What an exception says is of its run; where it was raised makes it one of a kind.
    frames = (
        line for line in record.problem.traceback.splitlines() if line.lstrip().startswith("File ")
    )
    first = sop.tracebacks.setdefault((record.problem.type, *frames), record.key)
    return "" if first == record.key else f"{first.domain}/{first.task}"


def explain_record(sop: SopSession, record: RunRecord) -> str:
    """Return the same of a run where nothing but its record is at hand."""
    ref = _ref_of(sop, record)
    return explain_run(sop, ref, ref.task, record, _test_of(sop, record.key))


def rerun_of(sop: SopSession, record: RunRecord) -> str:
    """Write the command that makes a run again, where nothing but its record is at hand."""
    return rerun_line(sop, _ref_of(sop, record), _test_of(sop, record.key))


def _ref_of(sop: SopSession, record: RunRecord) -> TaskRef:
    active = sop.find_active(record.domain)
    return TaskRef(active, active.places[record.task], record.key)


def _test_of(sop: SopSession, key: RunKey) -> str:
    """Return the node id of a user's test of the run; empty where a built-in test has it."""
    plan = sop.plan
    if key in plan.builtin.keys.values():
        return ""
    return next((nodeid for nodeid, one in plan.tests.keys.items() if one == key), "")
