"""Approved trajectories on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.records.reconstruct import record_refusal, recorded_trajectory
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.trajectory.calls import Trajectory
from pytest_sopbench._core.trajectory.snapshot import (
    SUFFIX,
    Snapshot,
    SnapshotRules,
    compare,
    read_snapshot,
    snapshot_file,
    snapshot_text,
)
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench.errors import SnapshotFileError

from .atomic import refused_as
from .header import SessionHeader

# The folder of snapshots: one JSON file per task, and beside them why they were approved.
#
# sop_snapshots/
# `-- late_returns/
# |-- R-101.json
# |-- state/R-101.json     what the run changed in its world, if a test compares that
# `-- approvals.jsonl      one line per approval from a saved session

APPROVALS = "approvals.jsonl"
"""The side record of a domain's snapshots."""

STATE = "state"
"""The folder, in that of a domain, of the snapshots of `sop_run.state_changes`."""

HINT = "mend it, or approve the task again"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalEntry:
    """One line of the side record: which snapshot, why, when, and of which run.

    `date` is an ISO date; `snapshot` is the hash of the file's text, so that a later change by
    other means is seen to have no reason.
    """

    task: str
    date: str
    reason: str
    agent: str
    session: str
    commit: str
    snapshot: str


class SnapshotFolder:
    """Reads and writes the snapshots of a project."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, domain: str, task: str) -> Path:
        """Return where the snapshot of a task lies, or would."""
        return self.path / snapshot_file(domain, task)

    def state_file(self, domain: str, task: str) -> Path:
        """Return where the snapshot of what a task changes in its world lies, or would."""
        return self.path / snapshot_file(domain, task, folder=STATE)

    def read(self, domain: str, task: str) -> Snapshot | None:
        """Return the snapshot of a task, or `None` if there is none.

        Raises:
            SnapshotFileError: the file cannot be read, or is no snapshot of this task.
        """
        path = self.file(domain, task)
        text = file_text(path)
        return None if text is None else parsed(path, task, text)

    def write(self, domain: str, task: str, text: str) -> None:
        """Replace the snapshot of a task in one step.

        Raises:
            SnapshotFileError: the disk did not take it.
        """
        path = self.file(domain, task)
        with refused_as(SnapshotFileError, path):
            write_whole(path, text)

    def domains(self) -> tuple[str, ...]:
        """Return the domains that have a folder here."""
        try:
            return tuple(sorted(unquote(one.name) for one in self.path.iterdir() if one.is_dir()))
        except OSError:
            return ()

    def leftovers(self, domain: str, tasks: Collection[str]) -> tuple[Path, ...]:
        """Return the snapshots of a domain that belong to none of these tasks."""
        folder = self.file(domain, "").parent
        there = [*folder.glob(f"*{SUFFIX}"), *(folder / STATE).glob(f"*{SUFFIX}")]
        if not there:
            return ()
        known = {snapshot_file(domain, task).rpartition("/")[2] for task in tasks}
        return tuple(sorted(one for one in there if one.name not in known))

    def record(self, domain: str, approval: ApprovalEntry) -> None:
        """Add a line to the side record of a domain.

        Raises:
            SnapshotFileError: the disk did not take it.
        """
        path = self.file(domain, "").parent / APPROVALS
        with (
            refused_as(SnapshotFileError, path),
            path.open("a", encoding="utf-8", newline="\n") as file,
        ):
            file.write(f"{json.dumps(asdict(approval), ensure_ascii=True)}\n")

    def approvals(self, domain: str) -> tuple[ApprovalEntry, ...]:
        """Return the side record of a domain, in the order of time.

        Raises:
            SnapshotFileError: a line of it cannot be read.
        """
        path = self.file(domain, "").parent / APPROVALS
        entries: list[ApprovalEntry] = []
        # Only a line feed ends a line of JSON; texts may have any other sign in them.
        for number, line in enumerate((file_text(path) or "").split("\n"), start=1):
            if not line.strip():
                continue
            try:
                data: dict[str, Any] = json.loads(line)
                entries.append(ApprovalEntry(**data))
            except (ValueError, TypeError) as fault:
                msg = f"{path}, line {number}: no approval: {fault}"
                raise SnapshotFileError(msg, hint="mend or remove the line") from None
        return tuple(entries)


def file_text(path: Path) -> str | None:
    """Return what stands in a file, or `None` if there is none.

    Raises:
        SnapshotFileError: the file cannot be read.
    """
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as fault:
        msg = f"{path}: cannot be read: {fault}"
        raise SnapshotFileError(msg, hint=HINT) from fault


def parsed(path: Path, task: str, text: str) -> Snapshot:
    """Read the snapshot of a task out of the text of its file.

    Raises:
        SnapshotFileError: it is none.
    """
    try:
        snapshot = read_snapshot(text)
    except ValueError as fault:
        msg = f"{path}: no snapshot: {fault}"
        raise SnapshotFileError(msg, hint=HINT) from None
    if snapshot.task != task:
        msg = f"{path}: it says that it is of task {json.dumps(snapshot.task)}"
        raise SnapshotFileError(msg, hint=HINT)
    return snapshot


def shown_task(path: Path) -> str:
    """Return the task's id that the name of a snapshot was made of, to be shown."""
    return unquote(path.name.removesuffix(SUFFIX))


def write_whole(path: Path, text: str) -> None:
    """Write a file aside and rename it, so that nobody ever reads half of it.

    Raises:
        OSError: the disk did not take it; nothing is left aside.
    """
    with replace_file(path) as file:
        file.write(text.encode())


# Approve what was seen: snapshots from the runs of a saved session, without running an agent.


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
            return f"the domain {record.domain} is not found: name its folder with --domain"
        place = self._places[record.domain].get(record.task)
        if place is None:
            return f"{record.domain} has no such task; is it renamed or its row deleted?"
        if domain.tasks[place].hash != record.task_hash:
            return "its row has changed since; run it again"
        return ""

    def _text(self, record: RunRecord, made: Trajectory) -> str | None:
        """Return what is to be written, or `None` if the run is approved already."""
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
        snapshot=hashlib.sha256(text.encode()).hexdigest()[:16],
    )
