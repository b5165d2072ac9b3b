"""What a task that is not correct prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import (
    Call,
    ExpectedCall,
    Mismatch,
    Outcome,
    RunRecord,
    ToolCall,
    Trajectory,
    match_trajectory,
)
from pytest_sopbench._core.answers.values import FORMS
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.model.trace import AnswerForm, Problem, Usage
from pytest_sopbench._core.records.record import CallRecord
from pytest_sopbench._core.trajectory.calls import expected_calls
from pytest_sopbench._core.trajectory.match import MatchMode
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.failure import failure_lines
from pytest_sopbench._reports.trajectory import (
    call_text,
    departure_lines,
    rule_lines,
)

INPUTS: Mapping[str, JsonValue] = {"product_id": "P_13307", "weight": 12}
MISMATCH = Mismatch(
    field="hazard_class",
    expected="Hazard Class C",
    actual="Hazard Class B",
    why="other known label",
)
CALL = CallRecord(name="look_up", arguments={"product_id": "P_13307"}, result={"score": 3})


def run(outcome: Outcome = Outcome.WRONG, **more: object) -> RunRecord:
    keywords: dict[str, object] = {
        "domain": "dangerous_goods",
        "task": "P_13307",
        "outcome": outcome,
        "expected": {"hazard_class": "Hazard Class C"},
        "duration_s": 1.3,
        **more,
    }
    if outcome is Outcome.WRONG:
        keywords.setdefault("mismatches", (MISMATCH,))
        keywords.setdefault("answer", {"hazard_class": "Hazard Class B"})
        keywords.setdefault("answer_form", "final_output")
    return RunRecord(**keywords)  # type: ignore[arg-type]  # test sugar


def lines_of(
    record: RunRecord,
    inputs: Mapping[str, JsonValue] | None = INPUTS,
    rerun: str = "pytest x::P_13307",
    location: str = "domains/dangerous_goods/data.csv:15",
) -> list[str]:
    return failure_lines(record, inputs=inputs, rerun=rerun, location=location)


def labelled(lines: list[str], label: str) -> list[str]:
    return [line[9:] for line in lines if line.startswith(f"{label} ")]


def test_a_wrong_answer_is_told_in_full() -> None:
    assert lines_of(run(calls=(CALL, CALL))) == [
        "wrong: hazard_class is 'Hazard Class B', not 'Hazard Class C'",
        "task     dangerous_goods/P_13307  domains/dangerous_goods/data.csv:15",
        "inputs   product_id='P_13307', weight=12",
        "field    hazard_class: other known label",
        "expected 'Hazard Class C'",
        "actual   'Hazard Class B'",
        "found    in <final_output>",
        "calls    1 look_up(product_id='P_13307')  -> {\"score\": 3}",
        "         2 look_up(product_id='P_13307')  -> {\"score\": 3}",
        "took     1.3 s",
        "again    pytest x::P_13307",
    ]


def test_a_number_is_expected_without_the_quotes_of_its_cell() -> None:
    off = Mismatch(field="pays", expected="0", actual=240, why="number off by 240")
    text = Mismatch(field="pays", expected="89.5", actual="89,50 EUR", why="not a number")

    assert "wrong: pays is 240, not 0" == lines_of(run(mismatches=(off,)))[0]
    assert "wrong: pays is '89,50 EUR', not 89.5" == lines_of(run(mismatches=(text,)))[0]
    assert ["pays: expected 0, actual 240: number off by 240"] == labelled(
        lines_of(run(mismatches=(off,))), "field"
    )


def test_what_is_not_at_hand_is_left_out() -> None:
    """As in `sopbench show`, which knows neither inputs nor rows."""
    lines = lines_of(run(duration_s=None), inputs=None, rerun="", location="")

    labels = [line.split()[0] for line in lines]
    assert labels == ["wrong:", "task", "field", "expected", "actual", "found"]


def test_several_fields_are_told_one_by_one() -> None:
    mismatches = (
        MISMATCH,
        Mismatch(field="refund", expected=12.5, actual=12.05, why="number off by 0.45"),
    )
    expected = {"hazard_class": "Hazard Class C", "refund": 12.5, "note": ""}

    lines = lines_of(run(mismatches=mismatches, expected=expected))

    assert lines[0] == "wrong: 2 of 3 fields differ: hazard_class, refund"
    assert "field    refund: expected 12.5, actual 12.05: number off by 0.45" in lines
    assert "         1 of 3 fields match" in lines


def test_an_answer_that_was_not_found_is_told_with_what_was_said() -> None:
    lines = lines_of(run(Outcome.NO_ANSWER, reason="no form has hazard_class", text="I think C."))

    assert lines[0] == "no_answer: no form has hazard_class"
    assert labelled(lines, "expected") == ["hazard_class='Hazard Class C'"]
    assert labelled(lines, "said") == ["I think C."]


def test_of_a_long_text_the_end_is_told() -> None:
    lines = lines_of(run(Outcome.NO_ANSWER, text="beginning " + "x " * 200 + "the end"))

    (said,) = labelled(lines, "said")
    assert said.startswith("...")
    assert any(line.endswith("the end") for line in lines)
    assert not any("beginning" in line for line in lines)


def test_zero_calls_are_said_aloud() -> None:
    assert labelled(lines_of(run()), "calls") == ["none: the agent called no tool"]


def test_a_run_without_a_trace_says_nothing_of_calls() -> None:
    lines = lines_of(run(Outcome.CRASH, duration_s=None, reason="the process died"))

    assert lines[0] == "crash: the process died"
    assert not labelled(lines, "calls")
    assert not labelled(lines, "took")


def test_calls_show_what_came_back() -> None:
    calls = (
        CALL,
        CallRecord(name="look_up", arguments={}, error="no record of ''"),
        CallRecord(
            name="send", arguments="text", bad=True, findings=("unknown tool 'send'",), error="x"
        ),
        CallRecord(name="send", arguments=None, bad=True, error="not JSON"),
    )

    lines = lines_of(run(calls=calls))

    start = next(number for number, line in enumerate(lines) if line.startswith("calls"))
    assert lines[start : start + 4] == [
        "calls    1 look_up(product_id='P_13307')  -> {\"score\": 3}",
        "         2 look_up()                      error: no record of ''",
        "         3 send('text')                   bad: unknown tool 'send'",
        "         4 send(None)                     bad: not JSON",
    ]


VEHICLE: dict[str, JsonValue] = {
    "plate": "AB-12",
    "history": ["serviced, and found to be sound in every respect"] * 12,
    "remarks": "Returned late. " + "The driver asked for another one. " * 20 + "See case 7.",
    "class": "van",
    "permit": {"valid": True, "until": "2026-04-30"},
    "weight_kg": 3512,
}


def calls_of(*calls: CallRecord) -> list[str]:
    lines = lines_of(run(calls=calls))
    start = next(number for number, line in enumerate(lines) if line.startswith("calls"))
    return lines[start : lines.index("took     1.3 s")]


def test_the_short_values_of_a_long_result_are_whole_wherever_they_stand() -> None:
    """The one that decides is a number behind texts that nobody reads."""
    lines = calls_of(CALL, CallRecord(name="get_vehicle", arguments={"p": 1}, result=VEHICLE))

    assert "         2 get_vehicle(p=1)" == lines[1]
    told = " ".join(line.strip() for line in lines[2:])
    for whole in ('-> {"plate": "AB-12"', '"class": "van"', '"weight_kg": 3512}', "See case 7."):
        assert whole in told
    assert 5 == len(lines)


def test_a_long_argument_takes_no_room_from_those_behind_it() -> None:
    arguments = {"text": "Dear Sir, " * 30, "record": "R-1", "total": 19, "final": True}

    lines = calls_of(CallRecord(name="enter", arguments=arguments, result={"status": "entered"}))

    assert lines[0].endswith("', record='R-1', total=19, final=True)")
    assert ['-> {"status": "entered"}'] == [line.strip() for line in lines[1:]]


def test_the_shortest_fields_are_kept_if_there_is_no_room_for_all() -> None:
    """A number of three digits stands behind thirty texts."""
    result: JsonValue = {f"remark {number}": "a long remark " * 9 for number in range(30)}

    lines = calls_of(CallRecord(name="look_up", arguments={}, result={**result, "total": 712}))

    assert 4 == len(lines)
    assert lines[-1].endswith(" more}")
    assert '"total": 712' in " ".join(line.strip() for line in lines)


def test_an_error_is_told_below_a_call_that_leaves_it_no_room() -> None:
    error = "get_vehicle: no vehicle has the plate AB-12; say one of AB-21 and AB-22"

    lines = calls_of(CallRecord(name="get_vehicle", arguments={"plate": "AB-12"}, error=error))

    assert "calls    1 get_vehicle(plate='AB-12')" == lines[0]
    assert lines[1].startswith("           error: get_vehicle: no vehicle")
    assert error in " ".join(line.strip() for line in lines[1:])


@pytest.mark.parametrize(
    "result",
    [
        pytest.param("x" * 1_000_000, id="text"),
        pytest.param([{"id": number} for number in range(100_000)], id="list"),
        pytest.param({f"field {number}": "x" * 99 for number in range(9_000)}, id="fields"),
        pytest.param({"x" * 1_000_000: 1}, id="name"),
    ],
)
def test_a_result_of_a_megabyte_takes_four_lines(result: JsonValue) -> None:
    lines = calls_of(CallRecord(name="look_up", arguments=None, result=result))

    assert len(lines) <= 4
    assert "..." in "".join(lines)


def test_a_result_that_the_record_does_not_hold_is_named_by_its_length() -> None:
    """Its hash would say nothing."""
    kept = {"sha256": "0" * 64, "characters": 1_048_576}

    lines = calls_of(CallRecord(name="look_up", arguments={}, result=kept))

    assert ["calls    1 look_up()  -> 1048576 characters, too long to be kept"] == lines


@pytest.mark.parametrize("inside", [pytest.param(True, id="field"), pytest.param(False, id="all")])
def test_no_part_of_a_secret_is_left_where_a_value_is_shortened(inside: bool) -> None:
    """Its two halves stand on both sides of what is left out."""
    hidden = f"open-sesame-42{' and more' * 60} open-sesame-42"
    result: JsonValue = {"note": hidden, "more": "x" * 400} if inside else hidden

    with masking(lambda text: text.replace("open-sesame-42", "***")):
        lines = calls_of(CallRecord(name="look_up", arguments={"key": hidden}, result=result))

    assert not any(part in "".join(lines) for part in ("open", "sesame", "-42"))


@pytest.mark.parametrize(
    ("count", "shown", "left"),
    [
        pytest.param(12, 12, "", id="all fit"),
        pytest.param(13, 11, "... 2 more calls ...", id="one too many"),
        pytest.param(100, 11, "... 89 more calls ...", id="many"),
    ],
)
def test_a_long_trajectory_is_cut_in_the_middle(count: int, shown: int, left: str) -> None:
    calls = tuple(CallRecord(name=f"tool_{number}", arguments={}) for number in range(count))

    lines = lines_of(run(calls=calls))

    assert len([line for line in lines if "-> None" in line]) == shown
    assert [left] * bool(left) == [line.strip() for line in lines if "more call" in line]
    assert any(f"{count} tool_{count - 1}()" in line for line in lines)


EXPECTED = (
    ExpectedCall(name="look_up"),
    ExpectedCall(name="refund", arguments={"amount": 12.5, "note": "x" * 150}),
)


@pytest.mark.parametrize(
    "before", [pytest.param(1, id="few calls"), pytest.param(30, id="in the middle of many")]
)
def test_an_argument_that_differs_is_never_cut(before: int) -> None:
    wrong = CallRecord(name="refund", arguments={"amount": 12.05, "note": "y" * 150})
    calls = (CALL, *(CallRecord(name="wait", arguments={}),) * before, wrong, *(CALL,) * 9)

    lines = failure_lines(run(calls=calls), inputs=None, rerun="", location="", expected=EXPECTED)

    place = lines.index("         differs: amount: expected 12.5, was 12.05")
    assert lines[place - 1].split()[:2] == [f"{before + 2}", "refund(amount=12.05,"]
    rest = "".join(line.strip() for line in lines[place + 1 : place + 8])
    assert f"expected'{'x' * 150}',was'{'y' * 150}'" in rest.replace(" ", "")
    assert max(map(len, lines)) <= 80


def test_a_traceback_that_was_shown_before_is_named() -> None:
    problem = Problem(type="E", message="m", traceback="Traceback:\n  File 'a'")
    record = run(Outcome.ERROR, problem=problem)

    lines = failure_lines(record, inputs=None, rerun="", location="", told_in="lab/T_01")

    assert "  the same traceback as that of lab/T_01" in lines
    assert not any("File" in line for line in lines)


def test_an_exception_comes_with_its_traceback() -> None:
    frames = 'Traceback (most recent call last):\n  File "agent.py", line 3, in run\n    boom()'
    problem = Problem(type="builtins.KeyError", message="'score'", traceback=f"{frames}\n")

    lines = lines_of(run(Outcome.ERROR, problem=problem))

    assert lines[0] == "error: builtins.KeyError: 'score'"
    start = lines.index("raised   builtins.KeyError: 'score'")
    assert lines[start + 1 : start + 4] == [f"  {frame}" for frame in frames.splitlines()]


def test_an_exception_without_a_message_is_its_type() -> None:
    problem = Problem(type="asyncio.CancelledError", message="")

    lines = lines_of(run(Outcome.ERROR, reason="it was cancelled", problem=problem))

    assert lines[0] == "error: it was cancelled"
    assert labelled(lines, "raised") == ["asyncio.CancelledError"]


def test_a_long_traceback_keeps_its_end() -> None:
    frames = "\n".join(f"frame {number}" for number in range(100))
    problem = Problem(type="E", message="m", traceback=frames)

    lines = [line.strip() for line in lines_of(run(Outcome.ERROR, problem=problem))]

    start = lines.index("frame 0")
    assert lines[start : start + 3] == ["frame 0", "frame 1", "... 70 more lines ..."]
    assert lines[start + 3] == "frame 72"
    assert "frame 99" in lines


def test_a_line_of_a_traceback_is_never_cut() -> None:
    problem = Problem(type="E", message="m", traceback="x" * 200)

    assert f"  {'x' * 200}" in lines_of(run(Outcome.ERROR, problem=problem))


def test_a_headline_that_is_cut_is_told_again() -> None:
    lines = lines_of(run(Outcome.TIMEOUT, reason="because " * 15))

    assert lines[0].endswith("...")
    assert labelled(lines, "why")[0].startswith("timeout: because")


def test_a_reason_that_fits_is_told_once() -> None:
    lines = lines_of(run(Outcome.TIMEOUT, reason="still running after 600 s"))

    assert len([line for line in lines if "still running" in line]) == 1


def test_an_outcome_without_a_reason_is_a_word() -> None:
    assert lines_of(run(Outcome.CRASH))[0] == "crash"


def test_notes_disputes_and_published_scoring_are_told() -> None:
    lines = lines_of(
        run(
            Outcome.CORRECT,
            answer={"hazard_class": "Hazard Class C"},
            disagreement="step 4 says B",
            only_published=True,
            notes=("a broken character was escaped",),
        )
    )

    assert lines[0] == "correct"
    assert labelled(lines, "answer") == ["hazard_class='Hazard Class C'"]
    assert labelled(lines, "disputed")[0].startswith("the expected answer is known to contradict")
    assert labelled(lines, "note") == [
        "correct by the published scorer's rules only",
        "a broken character was escaped",
    ]


def test_what_is_known_of_usage_is_told() -> None:
    usage = Usage(input_tokens=5_321, output_tokens=812, model_calls=4, cost_usd=0.0123)

    lines = lines_of(run(usage=usage))

    assert labelled(lines, "took") == [
        "1.3 s, 4 model calls, 5.3k tokens in, 812 tokens out, $0.012"
    ]


def test_what_tokens_were_of_stands_behind_them() -> None:
    usage = Usage(input_tokens=5_321, cached_tokens=4_000, output_tokens=812, reasoning_tokens=300)

    (line,) = labelled(lines_of(run(usage=usage)), "took")

    assert line == "1.3 s, 5.3k tokens in (4.0k cached), 812 tokens out (300 reasoning)"


def test_a_later_trial_is_named() -> None:
    assert "task     dangerous_goods/P_13307 (trial 3)" in lines_of(run(trial=3), location="")


def test_a_location_that_finds_no_room_stands_below() -> None:
    lines = lines_of(run(), location="x" * 70)

    assert lines[1:3] == ["task     dangerous_goods/P_13307", f"         {'x' * 70}"]


def test_the_command_is_never_cut() -> None:
    command = f"pytest {'x' * 100}"

    assert lines_of(run(), rerun=command)[-1] == f"again    {command}"


def test_every_form_of_an_answer_has_words() -> None:
    assert {form.value for form in AnswerForm} - {"not_found"} == set(FORMS)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(Outcome),
    st.dictionaries(TEXTS, VALUES, max_size=4),
    st.lists(
        st.builds(
            CallRecord,
            name=TEXTS,
            arguments=VALUES,
            result=VALUES,
            error=st.none() | TEXTS,
            bad=st.booleans(),
        ),
        max_size=15,
    ).map(tuple),
    TEXTS,
)
def test_whatever_a_run_holds_fits_80_columns(
    outcome: Outcome,
    values: dict[str, JsonValue],
    calls: tuple[CallRecord, ...],
    text: str,
) -> None:
    mismatches = tuple(
        Mismatch(field=name, expected=value, actual=text, why=text)
        for name, value in values.items()
    )
    record = run(
        outcome, reason=text, expected=values, mismatches=mismatches, calls=calls, text=text
    )

    lines = failure_lines(record, inputs=values, rerun="", location="")

    assert all(line.isprintable() for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_a_text_without_an_answer_is_told_how_to_give_one() -> None:
    lines = lines_of(run(Outcome.NO_ANSWER, text="I would say C.", reason="no answer was found"))

    place = lines.index("said     I would say C.") + 1
    assert (
        "         write <hazard_class>...</hazard_class> in the text, or return a mapping"
        == lines[place]
    )


# What a person reads of a departure: short, narrow, and never without the reason.

MATCHES = get_args(MatchMode)


def row_lines(
    calls: list[ToolCall], expected: list[Any], width: int = 80, **options: Any
) -> list[str]:
    actual = Trajectory(calls=tuple(Call(name=c.name, arguments=c.arguments) for c in calls))
    match = match_trajectory(actual, expected, **options)
    return departure_lines(match, calls, expected_calls(expected), width)


def call(name: str, result: Any = None, error: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments, result=result, error=error)


def test_a_match_that_held_has_nothing_to_say() -> None:
    assert [] == row_lines([call("a")], ["a"])


def test_the_marked_row_has_the_call_that_was_expected_there() -> None:
    lines = row_lines([call("part"), call("sale"), call("inspection")], ["part", "inspection"])

    assert "match exact, arguments exact: step 2: inspection was expected, sale was called" in lines
    assert ">  2 (inspection)                         sale()" in lines
    assert "   3 inspection                           inspection()" in lines


def test_two_trajectories_stand_side_by_side_with_the_departure_marked() -> None:
    calls = [call("login", {"ok": True}, user="u"), call("transfer", amount=5), call("logout")]

    lines = row_lines(calls, ["login", ("transfer", {"amount": 7}), "logout"])

    assert [
        "match exact, arguments exact: step 2: transfer was called with other arguments",
        "  than expected",
        "     expected                             actual",
        '   1 login                                login(user="u")',
        ">  2 transfer(amount=7)                   transfer(amount=5)",
        "   3 logout                               logout()",
        "amount: expected 7, was 5 (different)",
        'before it, step 1, login: {"ok": true}',
        "calls: 2 matched, 1 with other arguments",
    ] == lines


def test_what_was_left_out_has_a_row_of_its_own() -> None:
    lines = row_lines([call("a"), call("c", error="no\nrecord"), call("d")], ["a", "b", "c"])

    assert ">  - b                                    -" in lines
    assert "   2 c                                    c()" in lines
    assert "   3 -                                    d()" in lines


def test_a_failed_call_before_the_departure_tells_its_error() -> None:
    lines = row_lines(
        [call("login", error="wrong\n password"), call("transfer")], ["login", "close"]
    )

    assert "before it, step 1, login: failed: wrong password" in lines


def test_in_any_order_rows_follow_the_run_and_what_is_missing_comes_last() -> None:
    lines = row_lines(
        [call("b"), call("x"), call("a", n=1)], ["a", "b", ("c", {})], match="any_order"
    )

    assert [
        "   1 b                                    b()",
        ">  2 (c())                                x()",
        "   3 a                                    a(n=1)",
        "   - c()                                  -",
    ] == lines[2:6]


def test_zero_calls_are_said_aloud_in_trajectory_text() -> None:
    lines = row_lines([], ["a"])

    assert "match exact, arguments exact: step 1: no tool was called; a was expected" == lines[0]
    assert "calls: 1 missing" == lines[-1]


@pytest.mark.parametrize(
    ("further", "told"),
    [
        pytest.param(1, "1 more argument differs", id="one more"),
        pytest.param(3, "3 more arguments differ", id="three more"),
    ],
)
def test_only_two_differences_are_told_one_by_one(further: int, told: str) -> None:
    names = "abcdef"[: 2 + further]

    lines = row_lines([call("x", **dict.fromkeys(names, 1))], [("x", {})])

    assert "a: unexpected, was 1" in lines
    assert told in lines


def test_a_missing_argument_is_told_with_what_was_expected() -> None:
    assert 'b: missing, expected "B"' in row_lines([call("x")], [("x", {"b": "B"})])


def test_arguments_that_are_no_object_are_told_as_a_whole() -> None:
    odd = ToolCall(name="x", arguments="junk")

    lines = row_lines([odd], [("x", {})])

    assert 'arguments: expected {}, was "junk" (a text instead of an object)' in lines


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param({"a": 1, "b": "x"}, 'f(a=1, b="x")', id="object"),
        pytest.param({}, "f()", id="no arguments"),
        pytest.param(["x"], 'f(["x"])', id="list"),
        pytest.param(None, "f", id="not told"),
    ],
)
def test_a_call_is_written_as_in_code(arguments: Any, text: str) -> None:
    assert text == call_text("f", arguments)


def test_long_trajectories_show_the_rows_around_the_departure() -> None:
    calls = [call("a", step=step) for step in range(40)]
    expected: list[Any] = ["a"] * 20 + ["b"] + ["a"] * 20

    lines = row_lines(calls, expected)

    assert 2 == lines.count("     ...")
    assert any(line.startswith(">  - b") for line in lines)


CALLS = st.lists(
    st.builds(
        call,
        st.sampled_from(["a", "b", "a_tool_with_a_long_name" * 4]),
        st.sampled_from([None, {"x": "y" * 200}, "two\nlines"]),
        st.sampled_from([None, "error " * 40]),
        x=st.integers(1, 3),
        y=st.text("é\n", max_size=60),
    ),
    max_size=20,
)


@settings(max_examples=120, deadline=None)
@given(
    actual=CALLS, expected=CALLS, match=st.sampled_from(MATCHES), width=st.sampled_from([60, 80])
)
def test_any_departure_fits_in_fifteen_narrow_lines(
    actual: list[ToolCall], expected: list[ToolCall], match: MatchMode, width: int
) -> None:
    lines = row_lines(actual, [(one.name, one.arguments) for one in expected], width, match=match)

    assert 15 >= len(lines)
    assert all(len(line) <= width and "\n" not in line for line in lines)
    assert (1 if lines else 0) == sum(line.startswith(">") for line in lines)


# Rules


def result(rule: str, state: RuleState, **rest: Any) -> RuleResult:
    fields: dict[str, Any] = {"clause": "", "severity": Severity.SHOULD, "why": "because", **rest}
    return RuleResult(id=rule, kind=DemandKind.BEFORE, state=state, **fields)


def test_broken_rules_come_first_and_those_that_do_not_apply_are_left_out() -> None:
    lines = rule_lines(
        [
            result("a", RuleState.HELD, clause="4.2"),
            result("b", RuleState.NOT_EXERCISED),
            result("c", RuleState.BROKEN),
            result("d", RuleState.BROKEN, severity=Severity.MUST, why="x" * 99),
            result("e", RuleState.NOT_EXERCISED, applies=False),
        ],
        width=40,
    )

    assert [
        "d (must) broken: xxxxxxxxxxxxxxxxxxxx...",
        "c (should) broken: because",
        "a (clause 4.2, should) held: because",
        "b (should) not exercised: because",
    ] == lines
