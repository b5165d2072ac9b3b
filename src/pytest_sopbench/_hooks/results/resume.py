"""Takes an earlier session over, in the process that records results, or refuses to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NoReturn

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.record import RunRecord, to_line
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.runs.prefetch import taken_over_of
from pytest_sopbench._hooks.runs.reportable import journal_folder
from pytest_sopbench._hooks.session.domains import ActiveDomain
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._reports.text import counted
from pytest_sopbench._sessions.commands.resume import (
    Resumable,
    domain_differences,
    git_differences,
    header_differences,
    read_resumable,
    some_names,
)
from pytest_sopbench._sessions.event_logs import TraceFolder, bring_logs
from pytest_sopbench._sessions.folder import (
    followed,
    has_summary,
    last_path,
    resumable_since_last,
    running_since_last,
    session_path,
)
from pytest_sopbench._sessions.header import SessionHeader, git_state
from pytest_sopbench._sessions.mark import Mark, claim, refuse_running
from pytest_sopbench.errors import SessionFileError

# What a saved session says of its agents beside what it calls them.


def named_agents(sop: SopSession) -> Mapping[str, str]:
    """Return the spec of each agent by its name; nothing if the name is all."""
    agents = {one.name: one.spec for one in sop.options.agents}
    is_all = not sop.has_agents and all(name == spec for name, spec in agents.items())
    # A fixture of the project stands for a single agent of the options.
    return {} if is_all or sop.plan.fixture else agents


START_ANEW: Final = "leave --sop-resume out to run all tasks anew"
SAY_ANYWAY: Final = "with ,anyway after the name it is taken over all the same, and recorded"


class Resumption:
    """What `--sop-resume` comes to; without the option it takes nothing over, and says nothing."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self.taken = taken_over_of(sop)
        self.left: Resumable | None = None
        self._checked: set[str] = set()
        self._anyway: dict[str, None] = {}
        self._changed: set[RunKey] = set()
        # The lines with which the file was opened.
        self.written: frozenset[str] = frozenset()
        self.refused = False
        self._took: set[RunKey] = set()
        self.retried = 0
        self.without_log = 0
        self._resumed: ResumedSession | None = None

    def prepare(self) -> None:
        """Read the session that is resumed, and compare what is known of this one so far.

        Raises:
            pytest.UsageError: it cannot be read, or differs in what was run, or how.
        """
        options = self._sop.options.resume
        if options is None:
            return
        try:
            self._resumed = ResumedSession(self._sop, options.session)
            self.left = read_resumable(self._resumed.path, options.retry)
        except SessionFileError as error:
            msg = f"--sop-resume={options.session}: {error}\n{START_ANEW}"
            raise pytest.UsageError(msg) from None
        self.taken.session = self.left.saved.path
        self.taken.lines = {key: to_line(one) for key, one in self.left.finished.items()}
        then = self.left.saved.header
        # What the resumed session had itself accepted is kept.
        self._anyway.update(dict.fromkeys(then.options.resumed_anyway))
        self._compare_headers(then)
        self._accept(git_differences(then.git, git_state(self._sop.config.rootpath)))
        for active in self._sop.actives:
            self._check_domain(active)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        self.check_plan()

    @pytest.hookimpl(trylast=True, optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        self.check_plan()

    def pytest_report_header(self) -> list[str]:
        if self.left is None:
            return []
        runs = counted(len(self.taken.lines), "finished run")
        damage = [f"sop: {one}" for one in self.left.problems]
        return [f"sop: resumes {self._name}, which has {runs}", *damage]

    def check_plan(self) -> None:
        """Compare with what the tests ask for, as far as that is known.

        Raises:
            pytest.UsageError: the runs are of something else, or some would be lost.
        """
        planned = self._sop.plan.planned
        if self.left is None or not planned:
            return
        self._compare_headers(self.left.saved.header)
        for name in dict.fromkeys(key.domain for key in planned):
            self._check_domain(self._sop.find_active(name))
        # Those of an agent that does not run here stay in their session, and are named.
        here = {key.agent for key in planned}
        unplanned = [key for key in self.left.finished if key not in planned and key.agent in here]
        if unplanned and self._is_last:
            runs = counted(len(unplanned), "finished run")
            self._refuse(
                f"it has {runs} that this session does not plan ({some_names(unplanned)}), and "
                "this session takes its place",
                "select the same tasks, or resume it by its own name: "
                f"--sop-resume={self.left.saved.path.stem}",
            )

    def took(self, key: RunKey) -> bool:
        """Tell whether a run that was entered had been made before, and paid for."""
        return key in self._took

    def lines(self, session: Path) -> Sequence[str]:
        """Return the lines to open a session with, whose logs are brought there as well.

        Raises:
            SessionFileError: the disk did not take a log.
        """
        if self.left is None:
            return ()
        keys = self._keys()
        if self.taken.session is not None:
            bring_logs(self.taken.session, session, keys)
        lines = [self.taken.lines[key] for key in keys]
        self.written = frozenset(lines)
        self._record(len(lines))
        return lines

    def logs(self, session: Path) -> TraceFolder:
        """Open the folder of a session's event logs; those of runs taken over stay.

        Raises:
            SessionFileError: what lies there cannot be removed.
        """
        return TraceFolder(session, taken=self._keys())

    def watch(self, record: RunRecord, *, taken_over: bool) -> None:
        """Count a run as it is entered."""
        if taken_over:
            self._took.add(record.key)
        elif record.outcome is not Outcome.NOT_RUN and self.left is not None:
            key = record.key
            self.retried += key in self.left.again
            self.without_log += key in self.taken.lines and key not in self._changed

    def unasked(self) -> Iterator[tuple[RunRecord, str]]:
        """Yield the runs that may be taken over, for those whose items were never run."""
        if self.left is not None:
            for key, line in self.taken.lines.items():
                yield self.left.finished[key], line

    def summary_lines(self) -> Iterator[str]:
        """Say how much of this session was made before."""
        if self.left is None:
            return
        retried = f" ({self.retried} retried)" if self.retried else ""
        runs = counted(len(self._sop.plan.planned), "run")
        yield f"resumed {len(self._took)} of {runs} from {self._name}{retried}"
        if self.left.saved.header.git is None:
            yield "note   without git nobody knows whether the agent has changed since"
        # Runs that the resumed session has of agents that this one has not run.
        here = {key.agent for key in self._sop.plan.planned}
        others = [key.agent for key in self.left.finished if key.agent not in here]
        if others:
            stay = counted(len(others), "run stays", "runs stay")
            yield f"note   {stay} in {self.left.saved.path.stem}:"
            yield f"       no test asked for one of {', '.join(dict.fromkeys(others))} here"
        if self.without_log:
            again = counted(self.without_log, "run was", "runs were")
            yield f"note   {again} made again: no event log was kept, or not whole;"
            yield "       sop_traces = all keeps them"
        for difference in self._anyway:
            yield f"note   taken over in spite of: {difference}"

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        if self._resumed is not None:
            self._resumed.give_back()

    @property
    def session(self) -> Path | None:
        """The file of the session that is resumed."""
        return self._resumed.path if self._resumed is not None else None

    @property
    def _name(self) -> str:
        return self._resumed.name if self._resumed is not None else ""

    @property
    def _is_last(self) -> bool:
        """Whether this session takes the place of the one that is resumed."""
        return self._resumed is not None and self._resumed.is_last

    def _keys(self) -> list[RunKey]:
        """Return the runs to open the file with, in the order of the plan.

        If this session takes the other's place, what no test has asked for so far comes along.
        """
        lines, planned = self.taken.lines, self._sop.plan.planned
        keys = [key for key in planned if key in lines]
        if not self._is_last:
            return keys
        here = {key.agent for key in planned} or {key.agent for key in lines}
        return [*keys, *(key for key in lines if key not in planned and key.agent in here)]

    def _compare_headers(self, then: SessionHeader) -> None:
        options, agent = self._sop.options, self._sop.agents_run
        is_fixture = then.agent.startswith("fixture ") and not self._sop.plan.fixture
        # Marks of tests are read late, too.
        is_marked = not (self._sop.plan.planned or then.options.agents) and then.tells_agents
        if is_fixture or is_marked or then.agent == self._sop.agent_label:
            # Which fixture stands for the agent is known late, and to workers first.
            agent = then.agent
        agents = named_agents(self._sop)
        recorded = replace(self._sop.recorded, scoring=options.scoring.value, agents=agents)
        now = SessionHeader(
            plugin=then.plugin,
            agent=agent,
            agent_args={name: options.redaction.text(one) for name, one in options.agent_args},
            options=recorded,
            started="",
            judging="",
        )
        for difference in header_differences(then, now):
            self._refuse(difference, f"give what the session was given, or {START_ANEW}")

    def _check_domain(self, active: ActiveDomain) -> None:
        name = active.domain.name
        then = self.left.saved.header.domains.get(name) if self.left is not None else None
        if then is None or name in self._checked:
            return
        self._checked.add(name)
        for difference in domain_differences(name, then, active.domain.hashes, active.rules):
            self._refuse(difference, START_ANEW)
        changed = list(self._changed_tasks(active))
        if changed:
            said = f"the rows of {some_names(changed)} have changed"
            self._accept([said], "with ,anyway after the name these tasks are run anew")
            self._changed.update(changed)
            for key in changed:
                del self.taken.lines[key]

    def _changed_tasks(self, active: ActiveDomain) -> Iterator[RunKey]:
        places = {task: place for place, task in enumerate(active.domain.task_ids)}
        for key, record in self.left.finished.items() if self.left is not None else ():
            place = places.get(key.task) if key.domain == active.domain.name else None
            if place is not None and active.domain.tasks[place].hash != record.task_hash:
                yield key

    def _accept(
        self, differences: Sequence[str] | Iterator[str], otherwise: str = SAY_ANYWAY
    ) -> None:
        """Go on in spite of differences if that is asked for, and keep them in mind."""
        options = self._sop.options.resume
        for difference in differences:
            if options is None or not options.anyway:
                self._refuse(difference, f"{otherwise}; {START_ANEW}")
            self._anyway[difference] = None

    def _refuse(self, difference: str, hint: str) -> NoReturn:
        # Nothing may be written then: the file of the other session would go.
        self.refused = True
        msg = f"--sop-resume={self._name}: {difference}\n{hint}"
        raise pytest.UsageError(msg)

    def _record(self, runs: int) -> None:
        """Have the header tell which sessions this one goes back to, the last one last."""
        if self.left is None:
            return
        then = self.left.saved.header
        one: JsonValue = {
            "session": self.left.saved.path.stem if self._is_last else self._name,
            "started": then.started,
            "runs": runs,
        }
        self._sop.recorded = replace(
            self._sop.recorded,
            resumed=(*then.options.resumed, one),
            resumed_anyway=tuple(self._anyway),
        )


# Which session `--sop-resume` means, held so that nobody else takes it over meanwhile.


class ResumedSession:
    """The session that is resumed.

    `name` is what it is called; `is_last` tells that it was asked for as the last one, so that this
    session takes its place.

    Raises:
        SessionFileError: the value is neither a name nor a path, or the session is still running.
    """

    def __init__(self, sop: SopSession, value: str) -> None:
        self._sop = sop
        self.name = value
        sessions_dir = sop.options.sessions_dir
        path = sop.config.invocation_params.dir / session_path(value, sessions_dir)
        self.is_last = path == last_path(sessions_dir)
        self.path = self._newest(sessions_dir) if self.is_last else followed(path)
        self._claim: Mark | None = claim(self.path)

    def _newest(self, sessions_dir: Path) -> Path:
        """Return the newest session that never ended, else the one that ended last."""
        running = running_since_last(sessions_dir, but=journal_folder(self._sop).session)
        if running is not None:
            refuse_running(running)
        unended = resumable_since_last(sessions_dir)
        if unended is None:
            last = followed(last_path(sessions_dir))
            if last == last_path(sessions_dir) and not last.exists():
                msg = (
                    "there is no session to resume; one that ends before its first run leaves none"
                )
                raise SessionFileError(msg)
            return last
        self.name = unended.stem
        return unended

    def give_back(self) -> None:
        """Let others have it; if this session has all that it left, it needs no mark."""
        if self._claim is None:
            return
        if has_summary(journal_folder(self._sop).session):
            self._claim.take_off()
        else:
            self._claim.give_back()
