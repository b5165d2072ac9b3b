"""What is said of one run where its test fails, masked and harmless."""

from __future__ import annotations

from pytest_sopbench._core.hiding.harmless import harmless
from pytest_sopbench._core.hiding.masking import masking
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.session.session import SopSession, TaskRef
from pytest_sopbench._reports.failure.task import failure_lines

from .rerun_command import rerun_line


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
        )
    return harmless(redaction.text("\n".join(lines)))


def explain_record(sop: SopSession, record: RunRecord) -> str:
    """Return the same of a run of a built-in test, where nothing but its record is at hand."""
    active = sop.find_active(record.domain)
    ref = TaskRef(active, active.places[record.task], record.key)
    return explain_run(sop, ref, ref.task, record)
