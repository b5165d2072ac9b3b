"""What a test sees of its run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Final, Literal

import pytest

from pytest_sopbench._core.contract import RuleResult, check_contract, contract_state
from pytest_sopbench._core.demands import Known, RuleState
from pytest_sopbench._core.documents.comparing import difference_at
from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.end_state import SeenWorld
from pytest_sopbench._core.hiding import harmless, masking
from pytest_sopbench._core.judging import breaches, has_shown
from pytest_sopbench._core.model.task import RunKey, Task, parameter_of
from pytest_sopbench._core.model.trace import UNSEEN, Answer, ToolCall, Trace, has_ended
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.records.reconstruct import refusal
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._core.trajectory.calls import (
    ArgumentMode,
    Call,
    CallDemand,
    CallForms,
    Trajectory,
    Unmet,
    expected_calls,
    trajectory_of,
    unmet_call,
    unwanted_call,
)
from pytest_sopbench._core.trajectory.match import MatchMode, match_trajectory
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Outcome, Verdict
from pytest_sopbench._hooks.runs.reportable import JudgedRun
from pytest_sopbench._hooks.session.domains import TaskRef
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.marks import item_name
from pytest_sopbench._loading.files import did_you_mean, listed
from pytest_sopbench._reports.assertion import TAKEN, WIDTH, contract_lines, unmet_lines
from pytest_sopbench._reports.failure import JUDGED_AS_WELL, failure_lines, next_lines
from pytest_sopbench._reports.text import cut, one_line, shell_word, shown
from pytest_sopbench._reports.trajectory import departure_lines
from pytest_sopbench._settings.table import SAME, SPECS, TABLE

# What a test may demand of the calls of a run; a failure is its reason, and no traceback.

NO_CONTRACT = "the domain {domain} has no contract\nwrite one under 'contract' in its metadata"
NO_TOOL = """the test is wrong, whatever the agent did: the domain {domain} has no tool {name!r}
{hint}
calls of tools that do not exist lower the tool accuracy, and stand in sop_run.trace.calls"""
_PLAIN = {"type", "properties", "required", "additionalProperties", "title", "description"}
NO_PARAMETER = """the test is wrong, whatever the agent did: {tool} has no parameter {name!r}
{hint}"""
NO_STATE = (
    "what the calls of the run changed is not known, or the domain {domain} has no world.json"
)
NO_CALL = "the run was stopped before it called a tool\nso it has shown nothing of the contract"


def names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Read what `before=` and `after=` take: the name of a tool, or several."""
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


# What a test may demand of a document: the value at one path.

NO_DOCUMENTS = (
    "the test is wrong, whatever the agent did: the answers of this domain are no JSON documents;"
    " sop_run.answer[NAME] is the value of an output field"
)


def wrong_at(rules: DocumentRules | None, verdict: Verdict, path: str, expected: JsonValue) -> str:
    """Return why the value at a path is not the expected one, or nothing.

    Raises:
        ValueError: there are no documents, or it is no path.
    """
    __tracebackhide__ = True
    if rules is None:
        raise ValueError(NO_DOCUMENTS)
    if verdict.answer is None or not verdict.answer.complete:
        return f"{path}: there is no document: {verdict.outcome.value}: {verdict.reason}"
    found = difference_at(rules, verdict.answer.values, path, expected)
    if found is None:
        return ""
    there = shown(found.actual)
    return f"{found.field}: expected {shown(found.expected)}, actual {there}: {found.why}"


# The one line that makes exactly this run again.

_VALUES: Final = {
    "-c": "-c",
    "--config-file": "-c",
    "-o": "-o",
    "--override-ini": "-o",
    "-p": "-p",
    "--rootdir": "--rootdir",
    "--confcutdir": "--confcutdir",
    "--import-mode": "--import-mode",
}
"""Options of pytest itself that decide which code runs and by which configuration."""

_FLAGS: Final = frozenset(("--noconftest", "--pyargs"))
_OF_FLAGS: Final = frozenset(("store_true", "store_false", "store_const", "append_const", "count"))


def rerun_line(sop: SopSession, ref: TaskRef, test: str = "") -> str:
    """Write a command that a shell takes as it is, with all that decides the run or its verdict.

    Args:
        sop: the session.
        ref: the run.
        test: the node id of the user's test that asked for it; empty for the built-in test.
    """
    words = ["pytest"]
    options, trial = sop.options, ref.key.trial
    # A trial that is recorded beside others replaces all of them if they are not asked for.
    among = options.replay.mode == "auto" and options.trials > 1
    if test:
        # pytest writes ids from rootdir, and reads them from here.
        file, sign, name = test.partition("::")
        path = sop.config.rootpath / file
        words.append(f"{sop.shown(path)}{sign}{name}" if path.exists() else test)
        words += [f"--sop-domain={value}" for value in options.domains if options.typed_domains]
    elif trial > 1 or among or parameter_of(ref.key.agent) or not ref.key.task.isprintable():
        # `--sop-domain` names tasks, and a task has all of its trials and agents. If its id
        # cannot be seen, its item is called by what can.
        words.append(f"{_place(sop, ref)}::{item_name(ref.key, parameter_of(ref.key.agent))}")
    else:
        words.append(f"--sop-domain={ref.domain.spec}::{ref.key.task}")
    if options.trials > 1:
        words.append(f"--sop-trials={options.trials if among else trial}")
    # Of the built-in test, the one agent of the run; the id of a test of the user's may have all.
    mine = [one for one in options.agents if one.name == ref.key.agent]
    words += [f"--sop-agent={one}" for one in (mine if mine and not test else options.agents)]
    words += [f"--sop-agent-arg={name}={value}" for name, value in options.agent_args]
    words += _given(sop.config)
    words += _typed([str(word) for word in sop.config.invocation_params.args], sop.config)
    return " ".join(map(shell_word, words))


def show_line(sop: SopSession, key: RunKey) -> str:
    """Write the command that shows all that is known of a run, once the session has ended."""
    several = len(sop.actives) > 1
    task = f"{key.domain}/{key.task}" if several else key.task
    return f"sopbench show last {shell_word(task)}"


def _place(sop: SopSession, ref: TaskRef) -> str:
    """Return what stands before `::` in an id that pytest finds from the current directory."""
    active = ref.domain
    if active.spec == active.domain.name:
        return f"sop:{active.domain.name}"
    return sop.shown(active.domain.data_file)


def _given(config: pytest.Config) -> Iterator[str]:
    """Yield our options that decide a run, wherever they were given."""
    for spec in TABLE:
        given: str | Sequence[str] | None
        given = config.getoption(spec.name) if spec.is_option and spec.again == SAME else None
        for value in (given,) if isinstance(given, str) else given or ():
            # To make a run again is no reason to replace recordings: it is sent, as it was.
            off = spec.name == "sop_replay" and value == "record"
            yield f"{spec.option}={'off' if off else value}"


def _typed(typed: Sequence[str], config: pytest.Config) -> Iterator[str]:
    """Yield what was typed of pytest's own options, and of those that a conftest.py adds."""
    of_project = _of_conftest(config)
    words = iter(typed)
    for word in words:
        if word == "--":
            return
        # `-p NAME` may be written as `-pNAME`.
        short = word[:2], word[2:] and "=", word[2:]
        name, sign, value = word.partition("=") if word.startswith("--") else short
        if word in _FLAGS or (name in of_project and (sign or not of_project[name])):
            yield word
        elif name in of_project:
            yield f"{word}={next(words, '')}"
        elif name in _VALUES:
            value = value if sign else next(words, "")
            written, spec = _VALUES[name], SPECS.get(value.partition("=")[0].strip())
            # An ini value of ours may decide nothing; one of other plugins may.
            if written != "-o" or spec is None or spec.again == SAME:
                yield from (
                    (f"{written}={value}",) if written.startswith("--") else (written, value)
                )


def _of_conftest(config: pytest.Config) -> dict[str, bool]:
    """Return the options that belong to no group, as those of a conftest.py do.

    Each by its name, with whether a value follows it. pytest tells this to nobody; if it has
    moved the place, they are left out of the line.
    """
    parser = getattr(config, "_parser", None)
    group = getattr(parser, "_anonymous", None)
    found: dict[str, bool] = {}
    for one in getattr(group, "options", ()):
        given = one.attrs()
        # Before pytest 9 as it was written, and since then as argparse has made it.
        is_flag = given.get("nargs") == 0 or given.get("action", "store") in _OF_FLAGS
        found |= dict.fromkeys(one.names(), not is_flag)
    return found


# What is said of one run when its test fails, masked and harmless.


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
            expected=redaction.of(hidden).part(domain.expected_calls.get(ref.key.task, ())),
            told_in=_told_in(sop, record),
        )
    lines += next_lines("", show_line(sop, record.key))
    return harmless(redaction.text("\n".join(lines)))


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
    """Return the same of a run if nothing but its record is at hand."""
    ref = _ref_of(sop, record)
    return explain_run(sop, ref, ref.task, record, _test_of(sop, record.key))


def rerun_of(sop: SopSession, record: RunRecord) -> str:
    """Write the command that makes a run again, if nothing but its record is at hand."""
    return rerun_line(sop, _ref_of(sop, record), _test_of(sop, record.key))


def _ref_of(sop: SopSession, record: RunRecord) -> TaskRef:
    active = sop.find_active(record.domain)
    return TaskRef(active, active.places[record.task], record.key)


def _test_of(sop: SopSession, key: RunKey) -> str:
    """Return the node id of a user's test of the run; empty if a built-in test has it."""
    plan = sop.plan
    if key in plan.builtin.keys.values():
        return ""
    return next((nodeid for nodeid, one in plan.tests.keys.items() if one == key), "")


# The run that a test sees: what happened, what was decided, and assertions on both.


class Run:
    """One agent on one task, once, as it was observed and judged.

    Asking for the fixture `sop_run` makes the run; nothing here runs the agent again. Tests that
    share a run are given one such object each, since what one of them looked at says nothing of
    the others. A test that never looks at the verdict fails with a run that is not correct.
    """

    def __init__(self, sop: SopSession, done: JudgedRun, test: str) -> None:
        self._sop = sop
        self._judged = done
        # The node id of the user's test that asks; empty for the built-in test.
        self._test = test
        self._looked_at = False
        self._contract_asserted = False
        # The last assertion on the answer, or on the contract, that failed.
        self._failed_on: tuple[Literal["answer", "contract"], AssertionError] | None = None

    @property
    def _redaction(self) -> Redaction:
        hidden = self._judged.ref.domain.domain.private_columns
        return self._sop.options.redaction.of(hidden)

    def __repr__(self) -> str:
        task = self._judged.task
        # pytest shows it when an assertion fails, and anybody may have written the id.
        return harmless(f"<Run {task.domain}/{task.id}: {self.outcome}>").replace("\n", "\\n")

    @property
    def task(self) -> Task:
        """The task that the agent was given."""
        return self._own_task

    @cached_property
    def _own_task(self) -> Task:
        # What a test does to it must reach no other test.
        return deepcopy(self._judged.task)

    @property
    def trace(self) -> Trace:
        """Everything observed: calls, messages, usage, duration, what was raised."""
        return self._judged.trace

    @property
    def trajectory(self) -> Trajectory:
        """The tool calls in order; their results and errors stand in `trace.calls`."""
        return trajectory_of(self._judged.trace)

    @property
    def verdict(self) -> Verdict:
        """The outcome with its reasons; a test that reads it decides about the answer itself."""
        self._looked_at = True
        return self._judged.verdict

    @property
    def outcome(self) -> Outcome:
        """How the run ended; reading it decides nothing, unlike `verdict`."""
        return self._judged.verdict.outcome

    @property
    def answer(self) -> Answer | None:
        """The answer: `sop_run.answer["refund"]` is the value of an output field.

        What the agent gave beside the output fields is read in the same way, such as `["reason"]`.
        `None` if the agent did not return.
        """
        return self._judged.verdict.answer

    @property
    def output(self) -> str:
        """What the agent wrote to stdout and stderr, as one text."""
        return self._judged.trace.output

    @property
    def breaches(self) -> tuple[RuleResult, ...]:
        """The broken rules that fail this run, whatever its answer is."""
        verdict = self._judged.verdict
        enforce = self._sop.options.contract == "enforce"
        return breaches(verdict.rules, verdict.outcome, enforce=enforce) if verdict.rules else ()

    @property
    def refusal(self) -> str:
        """Why this run may not be approved as a snapshot, or nothing."""
        return refusal(self._judged.verdict.outcome, self._judged.verdict.rules)

    def assert_correct(self) -> None:
        """Fail unless an answer was found for every field and every field matches.

        Raises:
            AssertionError: with the task, the fields that differ, the trajectory and what the
                agent raised.
        """
        __tracebackhide__ = True
        if not self.verdict.correct:
            self._fail("answer", self.explain())

    def assert_trajectory(
        self,
        expected: CallForms,
        *,
        match: MatchMode = "exact",
        arguments: ArgumentMode = "exact",
        per_tool: Mapping[str, ArgumentMode] | None = None,
    ) -> None:
        """Fail unless the calls match: `"tool"`, or `("tool", {"argument": value})`, each.

        Args:
            expected: the calls; a bare name asks nothing of the arguments, and a list in the list
                is a group whose calls come in any order.
            match: `exact`, `in_order`, `any_order`, `subset` or `superset`.
            arguments: `exact`, `contains` or `ignore`.
            per_tool: another word than `arguments` for some tools.

        Raises:
            AssertionError: with both trajectories side by side, and the first departure.
            ValueError: a word is unknown, or a tool of `per_tool`.
        """
        __tracebackhide__ = True
        self._check_tools(per_tool or ())
        why = UNSEEN
        if self.trace.calls_are_seen:
            with masking(self._redaction.text):
                wanted = expected_calls(expected)
                found = match_trajectory(
                    self.trajectory,
                    wanted,
                    match=match,
                    arguments=arguments,
                    per_tool=per_tool,
                )
                lines = departure_lines(found, self._shown_calls(), wanted, WIDTH, TAKEN)
                why = self._told(lines)
        _fail(why)

    def assert_called(
        self,
        name: str,
        *,
        before: str | Sequence[str] | None = None,
        after: str | Sequence[str] | None = None,
        times: int | None = None,
        arguments: Mapping[str, JsonValue] | None = None,
        succeeded: bool | None = None,
    ) -> None:
        """Fail unless a tool was called, at least once or exactly `times`.

        Args:
            name: the tool.
            before: tools that were called later, and only after a call of this one succeeded.
            after: tools that had succeeded before this one was called first.
            times: how many calls there are that fit.
            arguments: must be among those of the call; others may stand beside them.
            succeeded: true takes only calls without error, false only such with one.

        Raises:
            AssertionError: with the reason, and the calls that were made.
            ValueError: the domain has no tool of one of these names, or the tool has no such
                argument.
        """
        __tracebackhide__ = True
        demand = CallDemand(
            name=name,
            before=names(before),
            after=names(after),
            times=times,
            arguments=arguments,
            succeeded=succeeded,
        )
        self._check_tools((name, *demand.before, *demand.after))
        self._check_arguments(name, arguments or ())
        with masking(self._redaction.text):
            why = self._unmet(demand.words(), unmet_call(demand, self.trace.calls))
        _fail(why)

    def assert_not_called(self, name: str) -> None:
        """Fail if a tool was called, also in vain.

        Raises:
            AssertionError: with the step, and the calls that were made.
            ValueError: the domain has no tool of this name, so that the test would always pass.
        """
        __tracebackhide__ = True
        self._check_tools((name,))
        with masking(self._redaction.text):
            why = self._unmet(f"{name} must not be called", unwanted_call(name, self.trace.calls))
        _fail(why)

    def _check_tools(self, asked: Iterable[str]) -> None:
        """Refuse names of no tool: what is said of them would hold, or fail, on every run."""
        __tracebackhide__ = True
        domain = self._judged.ref.domain.domain
        tools = tuple(spec.name for spec in domain.tool_specs)
        stranger = next((name for name in asked if name not in tools), None)
        if stranger is not None:
            known = f"its tools are {listed(tools)}" if tools else "it has no tools"
            hint = _known_and_near(known, stranger, tools)
            raise ValueError(NO_TOOL.format(domain=domain.name, name=stranger, hint=hint))

    def _check_arguments(self, tool: str, asked: Iterable[str]) -> None:
        """Refuse arguments that no call of a tool can have, as long as it is right."""
        __tracebackhide__ = True
        specs = self._judged.ref.domain.domain.tool_specs
        schema = next(one.parameters for one in specs if one.name == tool)
        properties = schema.get("properties")
        # A schema of other keywords may name more, or anything.
        is_plain = schema.keys() <= _PLAIN and not schema.get("additionalProperties")
        known = tuple(properties) if isinstance(properties, Mapping) and is_plain else ()
        for name in asked if known else ():
            if name not in known:
                hint = _known_and_near(f"its parameters are {listed(known)}", name, known)
                raise ValueError(NO_PARAMETER.format(tool=tool, name=name, hint=hint))

    def _unmet(self, words: str, unmet: Unmet | None) -> str:
        if not self.trace.calls_are_seen:
            return UNSEEN
        return "" if unmet is None else self._told(unmet_lines(words, unmet, self._shown_calls()))

    def _shown_calls(self) -> Sequence[ToolCall]:
        return self._redaction.part(self.trace.calls)

    def _told(self, lines: Iterable[str]) -> str:
        said = list(lines)
        problem = self.trace.problem
        if said and problem is not None:
            # Why the calls stop where they do.
            said.append(cut(one_line(f"the agent raised {problem.type}: {problem.message}"), WIDTH))
        return harmless(self._redaction.text("\n".join(said)))

    def assert_path(self, path: str, expected: JsonValue) -> None:
        """Fail unless the document that the agent gave has a value at a path.

        Values are compared as the domain compares answers; an ignored path may be asked for. The
        rest of the document decides nothing, so that a test which asserts on a path does not fail
        by what stands elsewhere.

        Args:
            path: keys and positions, such as `step` or `guests[0].name`.
            expected: what must stand there; `None` is met by an absent key as well.

        Raises:
            AssertionError: with what stands there instead, or why there is no document.
            ValueError: the answers of the domain are no documents, or it is no path.
        """
        __tracebackhide__ = True
        self._looked_at = True
        rules = self._judged.ref.domain.domain.document
        why = wrong_at(rules, self._judged.verdict, path, expected)
        self._fail("answer", harmless(self._redaction.text(why)))

    def assert_contract(self) -> None:
        """Fail if a rule of the domain's contract is broken, whatever its severity.

        Raises:
            AssertionError: with the broken rules; or the run was stopped before it called a tool,
                or the domain has no contract.
        """
        __tracebackhide__ = True
        self._contract_asserted = True
        domain, verdict = self._judged.ref.domain.domain, self._judged.verdict
        if domain.contract is None:
            self._fail("contract", NO_CONTRACT.format(domain=domain.name))
            return
        if not self.trace.calls_are_seen:
            self._fail("contract", UNSEEN)
            return
        with masking(self._redaction.text):
            known = Known(
                task=self.task,
                answer=verdict.answer,
                fields={field.name: field for field in domain.fields},
                expected=domain.expected_calls.get(self.task.id),
                world=domain.world,
            )
            results = check_contract(domain.contract, self.trace, known)
            broken = [one for one in results if one.broken]
            why = self._told(contract_lines(broken, self._shown_calls())) if broken else ""
            seen = has_shown(self.trace, verdict.outcome)
            if not broken and contract_state(results, shown=seen) is RuleState.NOT_EXERCISED:
                why = NO_CALL
        self._fail("contract", why)

    @property
    def state_changes(self) -> Trajectory:
        """What the calls changed in the run's world, in order: for `sop_snapshot`.

        Each change is named `insert refunds`, `update orders` or `remove orders`, and has the key
        and the columns, as they are then.
        """
        return Trajectory(
            calls=tuple(
                Call(
                    name=f"{_verb(one)} {one.table}",
                    arguments={"key": one.key, **(one.after or {})},
                )
                for one in self._changes()
            ),
            of_state=True,
        )

    def assert_state(
        self, expected: Mapping[str, Mapping[str | int, Mapping[str, JsonValue] | None]]
    ) -> None:
        """Fail unless rows of the world are so at the end; what is not named may be anything.

        Args:
            expected: `{"orders": {"O-12": {"status": "closed"}}}`; `None` for a row that must not
                be there.

        Raises:
            AssertionError: with every column that differs.
            ValueError: nothing is asked; the domain has no such table; keys of the table are texts
                and this one is a number, or the reverse; or what was changed is not known.
        """
        __tracebackhide__ = True
        self._looked_at = True
        differs = list(self._world().differences(expected))
        self._fail("answer", harmless(self._redaction.text("\n".join(differs))))

    def assert_unchanged(self, *tables: str) -> None:
        """Fail if a call changed anything in one of these tables, also if it was changed back.

        Raises:
            AssertionError: with the first change of each.
            ValueError: no table is named, the domain has none of this name, or what was changed is
                not known.
        """
        __tracebackhide__ = True
        differs = list(self._world().touched(tables))
        self._fail("answer", harmless(self._redaction.text("\n".join(differs))))

    def _changes(self) -> Sequence[StateChange]:
        trace = self._judged.trace
        changes = trace.state
        if changes is None or not all(has_ended(call) for call in trace.calls):
            raise ValueError(NO_STATE.format(domain=self._judged.task.domain))
        return changes

    def _world(self) -> SeenWorld:
        domain, changes = self._judged.ref.domain.domain, self._changes()
        if domain.world is None:
            raise ValueError(NO_STATE.format(domain=domain.name))
        return SeenWorld(domain.world, self._judged.task, changes)

    def explain(self) -> str:
        """Say what happened on this task, as a failed task prints it."""
        done = self._judged
        return explain_run(self._sop, done.ref, done.task, done.record, self._test)

    def explain_failed_test(self) -> str:
        """Say the same if the body of the test held, and why the test fails all the same."""
        verdict = self._judged.verdict
        if verdict.correct or not verdict.completed:
            return self.explain()
        return "\n".join((self.explain(), *JUDGED_AS_WELL))

    def fails_test(self, *, answer_ignored: bool) -> bool:
        """Tell whether a test that passed must fail by its run, after the test's own body.

        A run that did not complete fails every test that asked for it. A wrong one does, unless
        the test ignores the answer or looked at the verdict. A broken rule that fails the run
        does, unless the test asserted the contract itself.
        """
        if not self._judged.verdict.completed:
            return True
        if self.breaches and not self._contract_asserted:
            return True
        return not (self._judged.verdict.correct or answer_ignored or self._looked_at)

    def failed_by(
        self, error: BaseException, *, by_run: bool, answer_ignored: bool
    ) -> tuple[Outcome, tuple[str, ...]] | None:
        """Return what of this run a test failed by: the outcome, and the rules that were broken.

        `None` if the test failed by anything else: an assertion of its own, a snapshot, its
        code. `by_run` tells that its body held, so that `fails_test` made it fail.
        """
        about = "run" if by_run else ""
        if self._failed_on is not None and self._failed_on[1] is error:
            about = self._failed_on[0]
        broken = [one for one in self._judged.verdict.rules if one.broken]
        if not about or (about == "contract" and not broken):
            # A contract that shows nothing is none that a rule has broken.
            return None
        outcome = self.outcome
        decided = answer_ignored or (by_run and self._looked_at)
        if about == "answer" and self._judged.verdict.correct:
            outcome = Outcome.WRONG
        elif about != "answer" and decided and self._judged.verdict.completed:
            outcome = Outcome.CORRECT
        return outcome, tuple(one.id for one in (broken if about == "contract" else self.breaches))

    def _fail(self, about: Literal["answer", "contract"], why: str) -> None:
        __tracebackhide__ = True
        if why:
            error = AssertionError(why)
            self._failed_on = about, error
            raise error


def _known_and_near(known: str, name: str, names: Sequence[str]) -> str:
    return " ".join(filter(None, (f"{known};", did_you_mean(name, names)))).rstrip(";")


def _fail(why: str) -> None:
    __tracebackhide__ = True
    if why:
        raise AssertionError(why)


def _verb(change: StateChange) -> str:
    if change.before is None:
        return "insert"
    return "remove" if change.after is None else "update"
