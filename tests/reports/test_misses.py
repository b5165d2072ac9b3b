"""The misses: those that went wrong alike share a line, and a line shows what decided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Domain, Mismatch, Outcome, OutputField, RunRecord, Summary
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.metrics.counts import RunCounts
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.model.task import Compare, FieldType, ToolSpec
from pytest_sopbench._core.model.trace import Problem
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.lists import listing_lines
from pytest_sopbench._reports.terminal.misses import (
    MissGroups,
    full_miss_lines,
    miss_lines,
    namer,
    short_miss_lines,
)
from pytest_sopbench._reports.text import (
    columns,
    common_start,
    shown,
    told_apart,
    wrong_kinds,
    wrong_parts,
)

MISS = RunRecord(domain="dangerous_goods", task="P_1", outcome=Outcome.NO_ANSWER, reason="no class")

values = st.none() | st.booleans() | st.integers() | st.text(max_size=200) | st.lists(st.text())


def wrong(
    task: str, expected: JsonValue = "C", actual: JsonValue = "B", why: str = "different"
) -> RunRecord:
    miss = Mismatch(field="class", expected=expected, actual=actual, why=why)
    return replace(MISS, task=task, outcome=Outcome.WRONG, mismatches=(miss,))


def raised(task: str, message: str, line: int = 3) -> RunRecord:
    frames = f'Traceback:\n  File "agent.py", line {line}, in agent\nKeyError: {message}'
    problem = Problem(type="KeyError", message=message, traceback=frames)
    return replace(MISS, task=task, outcome=Outcome.ERROR, reason="", problem=problem)


def lines_of(*misses: RunRecord, width: int = 80, limit: int | None = 20) -> list[str]:
    named = namer([one.key for one in misses])
    return list(MissGroups(misses).lines(width=width, limit=limit, named=named))


@pytest.mark.parametrize(
    ("misses", "lines"),
    [
        pytest.param(
            [wrong("T1"), wrong("T2", "A"), wrong("T3")],
            ["class 'C' -> 'B': T1, T3", "class 'A' -> 'B': T2"],
            id="the most frequent kind first",
        ),
        pytest.param(
            [wrong("T1", "1", 3, "number off by 2"), wrong("T2", "5", 5.5, "number off by 0.5")],
            ["class off by 0.5 to 2: T1, T2"],
            id="numbers by how far they are off",
        ),
        pytest.param(
            [wrong("T1", "1", 3, "number off by 2"), wrong("T2", "1", 3, "number off by 2")],
            ["class 1 -> 3: T1, T2"],
            id="the same number with its value",
        ),
        pytest.param(
            [wrong("T1", "1", 3, "number off by 2"), wrong("T2", "4", 6, "number off by 2")],
            ["class off by 2: T1, T2"],
            id="numbers that are off by as much",
        ),
        pytest.param(
            [wrong("T1", "1", "x", "not a number"), wrong("T2", "2", "y", "not a number")],
            ["class not a number: T1, T2"],
            id="what is no number",
        ),
        pytest.param(
            [wrong("T1", "1", 2, "number off by \x1b[31m"), wrong("T2", "2", 4, "number off by 2")],
            ["class number off: T1, T2"],
            id="a file that was written by somebody else",
        ),
        pytest.param([wrong("T1", "1", 1)], ["class '1' -> 1: T1"], id="text and number"),
        pytest.param(
            [wrong("T1", ["a"], ["a", "b"])], ['class ["a"] -> ["a", "b"]: T1'], id="lists"
        ),
        pytest.param(
            [raised("T1", "'T1'"), raised("T2", "'T2'"), raised("T3", "'T3'", line=9)],
            ["error: KeyError: 'T1', or alike: T1, T2", "error: KeyError: 'T3': T3"],
            id="exceptions by where they were raised",
        ),
        pytest.param(
            [
                replace(MISS, task=f"T{at}", outcome=Outcome.TIMEOUT, reason=f"after {at}.5 s")
                for at in (1, 2)
            ],
            ["timeout: after 1.5 s, or alike: T1, T2"],
            id="times are of the run",
        ),
        pytest.param(
            [MISS, replace(MISS, task="P_2"), replace(MISS, task="P_3", reason="no text")],
            ["no_answer: no class: P_1, P_2", "no_answer: no text: P_3"],
            id="no answer by its reason",
        ),
        pytest.param([replace(MISS, reason="")], ["no_answer: P_1"], id="no reason"),
        pytest.param(
            [MISS, replace(MISS, trial=2)], ["no_answer: no class: P_1, P_1 (trial 2)"], id="trials"
        ),
        pytest.param(
            [replace(MISS, agent="m:a"), replace(MISS, agent="m:b")],
            ["no_answer: no class: P_1[a], P_1[b]"],
            id="several agents",
        ),
        pytest.param(
            [MISS, replace(MISS, domain="lab")],
            ["no_answer: no class: dangerous_goods/P_1, lab/P_1"],
            id="several domains",
        ),
    ],
)  # fmt: skip
def test_misses_that_went_wrong_alike_share_a_line(
    misses: list[RunRecord], lines: list[str]
) -> None:
    assert lines == lines_of(*misses)


def test_all_fields_of_a_miss_are_told_and_no_line_hides_one() -> None:
    mismatches = tuple(
        Mismatch(field=f"field_{at}", expected="x" * 20, actual=None, why="empty")
        for at in range(3)
    )
    miss = replace(MISS, outcome=Outcome.WRONG, mismatches=mismatches)

    told = [f"field_{at} '{'x' * 20}' -> None" for at in range(3)]
    assert [f"{told[0]}, {told[1]},", f"  {told[2]}: P_1"] == lines_of(miss)


def test_broken_rules_of_severity_must_are_named_first() -> None:
    rules = tuple(
        RuleResult(
            id=name,
            clause="",
            severity=severity,
            kind=DemandKind.FORBIDS,
            why="called",
            state=RuleState.BROKEN,
        )
        for name, severity in (("late", Severity.SHOULD), ("wire", Severity.MUST))
    )

    (line,) = lines_of(replace(MISS, outcome=Outcome.CORRECT, reason="", rules=rules))

    assert "correct, but broke wire (must), late: P_1" == line


def test_values_that_differ_behind_the_cut_show_where_they_differ() -> None:
    long = "the customer is entitled to a full refund within " * 3

    (line,) = lines_of(wrong("T1", f"{long}10 days", f"{long}14 days"))

    assert "class ...thin 10 days' -> ...thin 14 days': T1" == line


@given(values, values, st.integers(24, 200))
def test_two_values_that_differ_are_never_shown_alike(
    one: JsonValue, other: JsonValue, room: int
) -> None:
    texts = shown(one), shown(other)

    cut_ones = told_apart(*texts, room)

    assert sum(map(columns, cut_ones)) <= max(room, 0)
    assert (texts[0] == texts[1]) is (cut_ones[0] == cut_ones[1])


@given(
    st.lists(st.tuples(values, values, st.text(min_size=1, max_size=100)), min_size=1, max_size=30),
    st.integers(60, 200),
)
def test_no_line_is_wider_than_the_terminal_and_every_miss_is_counted(
    answers: list[tuple[JsonValue, JsonValue, str]], width: int
) -> None:
    misses = [wrong(f"{task}{at}", one, other) for at, (one, other, task) in enumerate(answers)]

    lines = lines_of(*misses, width=width)

    assert all(columns(line) <= width for line in lines)
    assert not any("\n" in line for line in lines)


def test_wide_signs_take_two_columns() -> None:
    lines = lines_of(*(wrong(f"退款{at:02}", "全額返金" * 8, "一部返金" * 8) for at in range(40)))

    assert all(columns(line) <= 80 for line in lines)
    assert lines[-1].endswith(" more")


def test_the_first_twenty_kinds_are_printed_and_the_rest_counted() -> None:
    lines = lines_of(*(wrong(f"T{at}", f"class {at % 25}") for at in range(30)))

    assert 21 == len(lines)
    assert "and 5 runs of 5 other kinds" == lines[-1]


def test_without_a_limit_every_task_is_named() -> None:
    misses = [wrong(f"T{at}", f"class {at % 25}") for at in range(300)]

    words = " ".join(lines_of(*misses, limit=None)).replace(",", "").split()

    assert {one.task for one in misses} < {*words}


def test_no_miss_has_no_section() -> None:
    assert [] == list(miss_lines(MissGroups(), [], named=namer([])))
    assert [] == list(full_miss_lines([], str))


def test_the_section_says_how_it_is_read_and_ends_with_what_to_do_next() -> None:
    groups = MissGroups([MISS, wrong("T1")])

    heading, *_, last = miss_lines(
        groups, [*groups], named=namer([*groups]), after=["again    pytest x"]
    )
    plain, _ = miss_lines(MissGroups([MISS]), [MISS.key], named=namer([MISS.key]))

    assert " SOP: 2 misses (expected -> given: tasks) " in heading
    assert "again    pytest x" == last
    assert " SOP: 1 miss =" in plain


def test_what_another_section_shows_is_left_out() -> None:
    groups = MissGroups([MISS, wrong("T1")])

    heading, line = miss_lines(groups, [wrong("T1").key], named=namer([*groups]))

    assert " SOP: 1 miss " in heading
    assert "class 'C' -> 'B': T1" == line


def test_misses_in_full_are_apart_by_an_empty_line() -> None:
    heading, *lines = full_miss_lines([MISS, MISS], lambda one: f"{one.task}\nall of it")

    assert " SOP: 2 misses " in heading
    assert ["P_1", "all of it", "", "P_1", "all of it"] == lines


def test_misses_in_short_are_named_and_the_rest_counted() -> None:
    two = [MISS, replace(MISS, task="P_2", domain="lab")]

    assert ["missed P_1, and 2 more"] == list(short_miss_lines([MISS], 3, namer([MISS.key])))
    assert ["missed dangerous_goods/P_1, lab/P_2"] == list(
        short_miss_lines(two, 2, namer([one.key for one in two]))
    )
    assert [] == list(short_miss_lines([], 0, namer([])))


# The list of domains.

HAZARD = OutputField(
    name="hazard_class",
    type=FieldType.ENUM,
    values=("Hazard Class A", "Hazard Class B"),
    aliases={"A": "Hazard Class A"},
)
DOMAIN = Domain(
    name="dangerous_goods",
    title="Classify dangerous goods",
    folder=Path("domains/dangerous_goods"),
    data_file=Path("domains/dangerous_goods/data.csv"),
    sop="",
    tool_specs=(
        ToolSpec(name="look_up", description="", parameters={}),
        ToolSpec(name="send", description="", parameters={}),
    ),
    fields=(HAZARD,),
    tasks=(),
    task_ids=("P_1", "P_2"),
    input_columns=("product_id", "weight"),
    licence="CC0-1.0",
)


def test_a_domain_is_listed() -> None:
    assert list(listing_lines([DOMAIN])) == [
        "dangerous_goods  Classify dangerous goods",
        "  holds    2 tasks, 2 tools, CC0-1.0",
        "  outputs  hazard_class (enum of 2)",
    ]


def test_a_quiet_list_is_a_line_for_each_domain() -> None:
    lines = list(listing_lines([DOMAIN, replace(DOMAIN, title="")], verbosity=-1))

    assert lines == [
        "dangerous_goods  2 tasks  Classify dangerous goods",
        "dangerous_goods  2 tasks",
    ]


def test_a_verbose_list_shows_what_was_inferred() -> None:
    assert list(listing_lines([DOMAIN], verbosity=1))[2:] == [
        "  folder   domains/dangerous_goods",
        "  inputs   product_id, weight",
        "  tools    look_up, send",
        "  outputs  hazard_class: enum of 2, inferred - Hazard Class A, Hazard Class B;",
        "           aliases: A for Hazard Class A",
    ]


def test_a_verbose_list_shows_what_was_declared() -> None:
    fields = (
        OutputField(name="refund", type=FieldType.NUMBER, tolerance=0.01, declared=True),
        OutputField(name="codes", type=FieldType.LIST, ordered=True, declared=True),
        OutputField(name="note", type=FieldType.TEXT, compare=Compare.PRESENT),
    )

    lines = list(listing_lines([replace(DOMAIN, fields=fields)], verbosity=1))

    assert lines[-3:] == [
        "  outputs  refund: number, declared, tolerance 0.01",
        "           codes: list, declared, ordered",
        "           note: text, present, inferred",
    ]


def test_values_of_private_fields_are_not_listed() -> None:
    lines = list(listing_lines([replace(DOMAIN, fields=(replace(HAZARD, private=True),))]))
    verbose = listing_lines([replace(DOMAIN, fields=(replace(HAZARD, private=True),))], verbosity=1)

    assert "Hazard Class" not in " ".join(" ".join([*lines, *verbose]).split())


def test_warnings_are_counted_and_shown_when_asked() -> None:
    warned = replace(DOMAIN, warnings=("labels 'A' and 'a' are one",), licence="")

    short, verbose = listing_lines([warned]), listing_lines([warned], verbosity=1)

    assert list(short)[-1] == "  warns    1 warning; -v shows them"
    assert list(verbose)[-1] == "  warning  labels 'A' and 'a' are one"


def test_a_domain_without_a_licence_says_so() -> None:
    assert "no licence stated" in list(listing_lines([replace(DOMAIN, licence="")]))[1]


def test_a_broken_domain_is_listed_with_its_problem() -> None:
    lines = list(listing_lines([DOMAIN], broken={"refunds": "data.csv: empty"}))

    assert lines[-3:] == ["", "refunds", "  problem  data.csv: empty"]


def test_broken_domains_alone_are_listed() -> None:
    assert list(listing_lines([], broken={"refunds": "empty"})) == ["refunds", "  problem  empty"]


def test_domains_stand_apart() -> None:
    assert list(listing_lines([DOMAIN, DOMAIN])).count("") == 1


def test_no_domain_is_said() -> None:
    (line,) = listing_lines([])

    assert line.startswith("no domain found")


def test_lines_are_80_columns_wide() -> None:
    wide = replace(
        DOMAIN,
        title="x" * 100,
        fields=(replace(HAZARD, values=tuple(f"label {n}" for n in range(20))),),
        input_columns=tuple(f"input_{n}" for n in range(40)),
    )

    assert max(map(len, listing_lines([wide], verbosity=1))) <= 80


def test_a_path_is_never_broken() -> None:
    folder = (
        Path("projects") / ("a folder with a long name " * 4).strip() / "domains" / ("lab" * 30)
    )

    lines = list(listing_lines([replace(DOMAIN, folder=folder)], verbosity=1))

    assert f"  folder   {folder}" in lines


# What wrong answers have in common, in as much room as there is.

Table = dict[tuple[str, str], int]


def summary(counted: bool = True, **tables: Table) -> Summary:
    return Summary(
        mismatched={name: sum(table.values()) for name, table in tables.items()},
        wrong_pairs=tables,
        answers=tables if counted else {},
    )


HAZARD_OF_WRONG: Table = {
    ("Hazard Class C", "Hazard Class B"): 7,
    ("Hazard Class D", "Hazard Class C"): 5,
}


def test_a_number_is_written_as_the_kinds_of_the_summary_write_it() -> None:
    fee = OutputField(name="fee", type=FieldType.NUMBER)
    wrong = RunRecord(
        domain="lab",
        task="T_01",
        outcome=Outcome.WRONG,
        expected={"fee": "1.00", "class": "A"},
        answer={"fee": 0, "class": "A"},
        mismatches=(Mismatch(field="fee", expected="1.00", actual=0, why="number off by 1"),),
    )

    (line,) = MissGroups([wrong]).lines(named=lambda key: key.task)

    assert "fee 1 -> 0: T_01" == line
    assert ["1 -> 0 (1x)"] == wrong_kinds(summary_of([wrong], [fee]))


def test_the_line_of_the_interface() -> None:
    assert wrong_kinds(summary(hazard=HAZARD_OF_WRONG)) == [
        "Hazard Class C -> B (7x)",
        "D -> C (5x)",
    ]


def test_several_fields_are_named() -> None:
    kinds = wrong_kinds(summary(one={("a", "b"): 1}, other={("c", "d"): 2}))

    assert kinds == ["other c -> d (2x)", "one a -> b (1x)"]


def test_a_field_beside_others_is_named_though_it_alone_differs() -> None:
    found = Summary(
        mismatched={"pays": 1},
        wrong_pairs={"pays": {("89.5", "89,50 EUR"): 1}},
        answers={"decision": {("free", "free"): 9}},
    )

    joint = replace(found, answers={}, by_expected={"9.5 / 12": RunCounts(runs=1)})

    assert wrong_kinds(found) == wrong_kinds(joint) == ["pays 89.5 -> 89,50 EUR (1x)"]


def test_values_without_labels_are_counted_by_field() -> None:
    two_long = Summary(mismatched={"note": 3}, wrong_pairs={"note": {("a", "b"): 1}})

    assert wrong_kinds(two_long) == ["note (2x)", "a -> b (1x)"]


def test_kinds_that_hardly_come_twice_say_nothing() -> None:
    many: Table = {(str(number), "x"): 1 for number in range(6)}

    assert wrong_kinds(summary(counted=False, refund=many)) == ["refund (6x)"]
    assert len(wrong_kinds(summary(refund=many))) == 6


def test_line_ends_in_labels_do_no_harm() -> None:
    assert wrong_kinds(summary(f={("a\nb", "\x1b[2J"): 1})) == [r"a b -> \x1b[2J (1x)"]


@pytest.mark.parametrize(
    ("room", "parts"),
    [
        pytest.param(40, ["Hazard Class C -> B (7x),", "D -> C (5x)"], id="all fit"),
        pytest.param(37, ["Hazard Class C -> B (7x),", "D -> C (5x)"], id="just fit"),
        pytest.param(36, ["Hazard Class C -> B (7x)", "and 1 more"], id="not quite"),
        pytest.param(5, ["Hazard Class C -> B (7x)", "and 1 more"], id="the first is said anyway"),
    ],
)
def test_kinds_fill_the_room(room: int, parts: list[str]) -> None:
    assert parts == wrong_parts(summary(hazard=HAZARD_OF_WRONG), room)


def test_many_fields_in_little_room_are_counted_by_field() -> None:
    tables = {f"field_{number}": {("valid", "invalid"): number} for number in (1, 2, 3, 4)}

    parts = wrong_parts(summary(**tables), 60)

    assert parts == ["field_4 (4x),", "field_3 (3x),", "field_2 (2x),", "field_1 (1x)"]


def test_nothing_wrong_has_no_parts() -> None:
    assert wrong_parts(Summary(), 60) == []


@pytest.mark.parametrize(
    ("labels", "start"),
    [
        pytest.param([], "", id="no label"),
        pytest.param(["Hazard Class A"], "", id="one label"),
        pytest.param(["Hazard Class A", "Hazard Class B"], "Hazard Class ", id="two"),
        pytest.param(["Hazard Class A", "Hazard Class B", "None"], "Hazard Class ", id="most"),
        pytest.param(["Class A", "Class B", "x", "y"], "", id="only half"),
        pytest.param(["Class A", "Class B", "A"], "", id="two would be equal"),
        pytest.param(["valid", "invalid"], "", id="nothing in common"),
    ],
)
def test_words_that_most_labels_begin_with(labels: list[str], start: str) -> None:
    assert start == common_start(labels)
