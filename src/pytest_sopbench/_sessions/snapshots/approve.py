"""Approve what was seen: snapshots from the runs of a saved session, without running an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.trajectory import Trajectory
from pytest_sopbench._core.records.approvable import record_refusal, recorded_trajectory
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.trajectory.snapshot import Snapshot, compare, snapshot_text
from pytest_sopbench._core.trajectory.snapshot_rules import SnapshotRules
from pytest_sopbench._sessions.header.header import SessionHeader
from pytest_sopbench.errors import SnapshotFileError

from .folder import ApprovalEntry, SnapshotFolder, text_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why something is approved, and when; `date` as ISO, `session` as the user named it."""

    text: str
    date: str
    session: str


@dataclass(slots=True, kw_only=True)
class Approved:
    """What came of an approval, by `DOMAIN/TASK`; `refused` with the reason."""

    written: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])
    refused: dict[str, str] = field(default_factory=dict[str, str])


class Approver:
    """Writes snapshots of recorded runs.

    Args:
        folder: where the snapshots are.
        domains: the domains of the session that are still found, by name, as they are today.
        rules: how trajectories are normalised and compared.
        keep: whether trajectories that were approved before stay approved beside the new one.
    """

    def __init__(
        self,
        folder: SnapshotFolder,
        domains: Mapping[str, Domain],
        rules: SnapshotRules,
        *,
        keep: bool = False,
    ) -> None:
        self._folder = folder
        self._domains = domains
        self._places = {
            name: {task: place for place, task in enumerate(domain.task_ids)}
            for name, domain in domains.items()
        }
        self._rules = rules
        self._keep = keep

    def approve(
        self, records: Iterable[RunRecord], header: SessionHeader, reason: Reason
    ) -> Approved:
        """Approve the first trial of each run that may be, and name the others.

        Raises:
            SnapshotFileError: the disk did not take a snapshot or its reason.
        """
        done = Approved()
        seen: dict[tuple[str, str], Trajectory] = {}
        for record in records:
            if record.trial != 1:
                continue
            key, name = (record.domain, record.task), f"{record.domain}/{record.task}"
            made = self._rules.normalised(recorded_trajectory(record))
            why = self._gone(record) or record_refusal(record)
            if not why and key in seen and not self._keep and seen[key] != made:
                why = f"agent {record.agent} made other calls; --add approves both"
            if why:
                done.refused[name if name not in done.refused else f"{name} ({record.agent})"] = why
                continue
            seen[key] = made
            text = self._text(record, made)
            if text is None:
                done.unchanged.append(name)
                continue
            self._folder.write(record.domain, record.task, text)
            self._folder.record(record.domain, _approval(record, header, reason, text))
            done.written.append(name)
        return done

    def leftovers(self) -> list[str]:
        """Say which snapshots and reasons stand here without a task; they are left as they are.

        Raises:
            SnapshotFileError: the reasons cannot be read.
        """
        said: list[str] = []
        for name in self._folder.domains():
            domain = self._domains.get(name)
            if domain is None:
                said.append(f"{self._folder.path / name}: no domain of this name is found")
                continue
            said += [
                f"{path}: {name} has no such task"
                for path in self._folder.leftovers(name, domain.task_ids)
            ]
            tasks = dict.fromkeys(one.task for one in self._folder.approvals(name))
            said += [
                f"{self._folder.file(name, task)}: approved once, and gone"
                for task in tasks
                if not self._folder.file(name, task).exists()
            ]
        return said

    def _gone(self, record: RunRecord) -> str:
        domain = self._domains.get(record.domain)
        if domain is None:
            return f"the domain {record.domain} is not found; is it renamed or deleted?"
        place = self._places[record.domain].get(record.task)
        if place is None:
            return f"{record.domain} has no such task; is it renamed or its row deleted?"
        if domain.tasks[place].hash != record.task_hash:
            return "its row has changed since; run it again"
        return ""

    def _text(self, record: RunRecord, made: Trajectory) -> str | None:
        """Return what is to be written, or `None` where the run is approved already."""
        try:
            before = self._folder.read(record.domain, record.task)
        except SnapshotFileError:
            # To approve the task again is what such a file asks for.
            before = None
        if before is not None and compare(made, before, self._rules).held:
            return None
        others = before.approved if before is not None and self._keep else ()
        return snapshot_text(Snapshot(task=record.task, approved=(*others, made)))


def _approval(record: RunRecord, header: SessionHeader, reason: Reason, text: str) -> ApprovalEntry:
    return ApprovalEntry(
        task=record.task,
        date=reason.date,
        reason=reason.text,
        agent=record.agent or header.agent,
        session=reason.session,
        commit=header.git.commit if header.git else "",
        snapshot=text_hash(text),
    )
