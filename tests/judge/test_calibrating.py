"""What is drawn for people, what comes of their labels, and the file that keeps it."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_judge import Asked, judge_of, judgement_text, replied

from pytest_sopbench._core.gates.calibration import Calibration
from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.statistics import Agreement
from pytest_sopbench._judge.asking import Judgement, Question
from pytest_sopbench._judge.calibrating import (
    COLUMNS,
    FieldCheck,
    JudgedCase,
    LabelledCase,
    as_it_was,
    check_labels,
    check_lines,
    defused,
    drawn,
    read_labels,
    write_cases,
)
from pytest_sopbench._judge.judging import FILE, read_calibrations, write_calibrations
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.agents import Reply
from pytest_sopbench.errors import JudgeError, LoadingError

FOUND = Calibration(
    fingerprint="f",
    agreement=Agreement(both_yes=56, only_first=4, only_second=3, both_no=57),
    model="openai/m",
    disputed=("row 2, C_1",),
)


def verdicts(yes: int, no: int, field: str = "letter") -> list[tuple[LabelledCase, bool]]:
    return [
        (LabelledCase(domain="claims", field=field, expected="x", actual=f"{held} {n}"), held)
        for held, number in ((True, yes), (False, no))
        for n in range(number)
    ]


def counted(cases: tuple[LabelledCase, ...]) -> Counter[tuple[str, str]]:
    return Counter((one.field, one.actual.split()[0]) for one in cases)


@pytest.mark.parametrize(
    ("yes", "no", "size", "expected"),
    [
        pytest.param(95, 5, 50, (45, 5), id="all-of-the-few"),
        pytest.param(95, 60, 50, (25, 25), id="half-and-half"),
        pytest.param(3, 4, 50, (3, 4), id="no-more-than-there-are"),
        pytest.param(40, 0, 10, (10, 0), id="one-verdict-alone"),
    ],
)
def test_both_verdicts_are_drawn_as_evenly_as_they_are_there(
    yes: int, no: int, size: int, expected: tuple[int, int]
) -> None:
    found = counted(drawn(verdicts(yes, no), size))

    assert expected == (found["letter", "True"], found["letter", "False"])


def test_every_field_has_its_part() -> None:
    found = counted(drawn([*verdicts(90, 90), *verdicts(90, 90, "reason")], 40))

    assert {10} == {*found.values()}
    assert 4 == len(found)


def test_the_same_cases_and_seed_give_the_same_table_in_any_order_of_the_file() -> None:
    cases = verdicts(80, 80)

    assert drawn(cases, 30) == drawn(cases[::-1], 30)
    assert drawn(cases, 30) != drawn(cases, 30, seed=1)


def test_the_order_of_the_table_does_not_tell_the_verdicts() -> None:
    held = [one.actual.startswith("True") for one in drawn(verdicts(80, 80), 40)]

    assert held != sorted(held)
    assert held != sorted(held, reverse=True)
    assert held[::2] != [held[0]] * 20


def test_a_calibration_is_kept_and_those_of_other_fields_stay(tmp_path: Path) -> None:
    write_calibrations(tmp_path, {"letter": FOUND})
    write_calibrations(tmp_path, {"reason": FOUND})

    assert {"letter": FOUND, "reason": FOUND} == read_calibrations(tmp_path)
    kept = json.loads((tmp_path / FILE).read_text())["fields"]["letter"]
    assert (120, 0.9417, 0.8833) == (kept["labels"], kept["agreement"], kept["kappa"])


def test_no_file_is_no_calibration(tmp_path: Path) -> None:
    assert {} == read_calibrations(tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "cannot be read", id="empty"),
        pytest.param("[]", "the file is no JSON object", id="a-list"),
        pytest.param('{"schema": 7}', "key 'schema': 7 is not known", id="newer"),
        pytest.param('{"schema": 1}', "key 'fields' is no JSON object", id="no-fields"),
        pytest.param(
            '{"schema": 1, "fields": {"a": 1}}', "key 'fields.a' is no JSON object", id="a-number"
        ),
        pytest.param(
            '{"schema": 1, "fields": {"a": {"both_yes": -1}}}',
            "key 'fields.a.both_yes': a count of 0 or more is needed, not -1",
            id="negative",
        ),
        pytest.param(
            '{"schema": 1, "fields": {"a": {"both_yes": 1, "only_judge": 0, "only_people": 0,'
            ' "both_no": true}}}',
            "key 'fields.a.both_no': a count of 0 or more is needed, not True",
            id="no-count",
        ),
        pytest.param(
            '{"schema": 1, "fields": {"a": {"both_yes": 1, "only_judge": 0, "only_people": 0,'
            ' "both_no": 1}}}',
            "key 'fields.a.fingerprint': a text is needed, not None",
            id="no-fingerprint",
        ),
    ],
)
def test_a_file_that_is_no_calibration_says_what_is_wrong(
    tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / FILE).write_text(text)

    with pytest.raises(JudgeError) as raised:
        read_calibrations(tmp_path)

    assert told in str(raised.value)
    assert "sopbench judge check LABELS.csv" in raised.value.hint


def claims(tmp_path: Path) -> Path:
    folder = tmp_path / "claims"
    folder.mkdir()
    (folder / "sop.md").write_text("Read the claim, and write a letter.\n")
    (folder / "rubric.md").write_text("It grants the refund.\n")
    (folder / "data.csv").write_text("claim,refund,letter\nC_1,10,We refund 10\n")
    metadata = {
        "name": "claims",
        "id_column": "claim",
        "input_columns": ["claim"],
        "output_columns": ["refund", "letter"],
        "outputs": {"letter": {"compare": "judge", "rubric_file": "rubric.md"}},
    }
    (folder / "metadata.json").write_text(json.dumps(metadata))
    return folder


def says_yes_to_long_ones(question: Question) -> Reply:
    assert "It grants the refund." == question.rubric
    if question.actual == "odd":
        return replied("I cannot say.")
    held = len(question.actual) > 3
    return replied(judgement_text(held=held, quote=question.actual, reason="by its length"))


def case(actual: str, label: bool | None, line: int = 0, field: str = "letter") -> LabelledCase:
    return LabelledCase(
        domain="claims", field=field, expected="x", actual=actual, label=label, line=line
    )


def test_a_check_counts_both_raters_and_names_what_they_dispute(
    tmp_path: Path, folder: Path
) -> None:
    domains = {"claims": load_domain(claims(tmp_path))}
    cases = [
        case("long", True, 2),
        case("longer", False, 3),
        case("no", False, 4),
        case("yes", True, 5),
        case("blank", None, 6),
        case("odd", True, 7),
    ]

    (found,) = check_labels(
        cases, domains, judge_of(folder, Asked(says_yes_to_long_ones)), in_flight=4
    )

    assert Agreement(both_yes=1, only_first=1, only_second=1, both_no=1) == (
        found.calibration.agreement
    )
    assert ("row 3", "row 5") == found.calibration.disputed
    assert (["odd"], 1) == ([one.case.actual for one in found.not_judged], found.unlabelled)
    told = "\n".join(check_lines(found))
    assert "agreement   50% of 4 labels, kappa 0.00" in told
    assert "    row 3: judge yes, people no: by its length" in told
    assert "    row 7: the judge gave no JSON object: 'I cannot say.'" in told
    assert "gates on it are inconclusive: only 4 labels, of at least 50" in told


def exits(question: Question) -> Reply:
    said = f"{'x' * 190} sk-1234567890"
    raise SystemExit(said)


def test_a_client_that_exits_is_no_end_of_the_check(tmp_path: Path, folder: Path) -> None:
    """Its status would be that of the command; what it says is masked before it is cut."""
    domains = {"claims": load_domain(claims(tmp_path))}

    with masking(lambda text: text.replace("sk-1234567890", "***")):
        (found,) = check_labels(
            [case("long", True)], domains, judge_of(folder, Asked(exits)), in_flight=1
        )

    assert [] == [one.why for one in found.not_judged if "sk-" in one.why]
    assert ["SystemExit: xxx"] == [one.why[:15] for one in found.not_judged]


def test_a_server_that_never_ends_its_reply_is_left(tmp_path: Path, folder: Path) -> None:
    domains = {"claims": load_domain(claims(tmp_path))}
    never = Event()

    def hangs(question: Question) -> Reply:
        never.wait()
        return says_yes_to_long_ones(question)

    (found,) = check_labels(
        [case("long", True)], domains, judge_of(folder, Asked(hangs)), in_flight=1, seconds=0.01
    )
    never.set()

    assert ["no judgement after 0.01 s"] == [one.why for one in found.not_judged]


def test_the_page_shows_what_a_check_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/judge-fields.md").read_text("utf-8")
    judgement = Judgement(held=True, reason="it names the amount and the reason", quote="x")
    kinds = [(True, True)] * 56 + [(True, False)] * 4 + [(False, True)] * 3 + [(False, False)] * 57
    judged = [
        JudgedCase(case=case("x", label, n), judgement=replace(judgement, held=held))
        for n, (held, label) in enumerate(kinds)
    ]
    domain = load_domain(claims(tmp_path))

    lines = check_lines(
        FieldCheck(
            domain=domain,
            field="letter",
            fingerprint="f",
            model="openai/gpt-5-mini",
            cases=tuple(judged),
        )
    )

    shown = [line for line in lines if not line.startswith("    row")]
    assert [] == [line for line in shown if line not in page]
    assert 7 == len(shown)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        pytest.param(
            LabelledCase(
                domain="other", field="letter", expected="", actual="", label=True, line=9
            ),
            "row 9, column 'domain': the domain 'other' is not found",
            id="domain",
        ),
        pytest.param(
            case("x", True, 9, "refund"),
            "row 9, column 'field': no judge compares 'refund'",
            id="field",
        ),
    ],
)
def test_a_case_of_no_judge_is_refused_before_anything_is_asked(
    tmp_path: Path, folder: Path, wrong: LabelledCase, told: str
) -> None:
    domains = {"claims": load_domain(claims(tmp_path))}
    asked = Asked(says_yes_to_long_ones)

    with pytest.raises(JudgeError) as raised:
        check_labels([case("long", True), wrong], domains, judge_of(folder, asked), in_flight=1)

    assert told in str(raised.value)
    assert [] == asked.questions


# Tables that people label: what is written, what is read, and what is refused with its place.

HEADER = "domain,field,expected,actual,label\n"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("cell", "label"),
    [(word, True) for word in ("yes", "Y", "TRUE", "1", " right ", "correct")]
    + [(word, False) for word in ("no", "N", "false", "0", "wrong", "not held")]
    + [(word, None) for word in ("", "  ")],
)
def test_people_may_write_a_label_in_several_words(
    tmp_path: Path, cell: str, label: bool | None
) -> None:
    path = table(tmp_path, f"{HEADER}claims,letter,a,b,yes\nclaims,letter,a,c,{cell}\n")

    assert label is read_labels(path)[1].label


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "the file is empty", id="empty"),
        pytest.param(HEADER, "a header, and no row", id="no-row"),
        pytest.param(
            HEADER + "claims,letter,a,b,maybe\n",
            "row 2, column 'label': 'maybe' is no label\nwrite yes or no",
            id="no-label",
        ),
        pytest.param(
            HEADER + "claims,letter,a,b,yes\n\nclaims,letter,a,b,no\n",
            "row 4: the same field, expected value and answer as in row 2",
            id="twice",
        ),
        pytest.param(
            HEADER + 'claims,letter,"a\nb",b,yes\nclaims,,a,b,no\n',
            "row 4, column 'field': empty",
            id="no-field-behind-a-cell-of-two-lines",
        ),
        pytest.param(HEADER + ",letter,a,b,yes\n", "row 2, column 'domain': empty", id="no-domain"),
        pytest.param(
            HEADER + "claims,letter,a,b,\n", "column 'label': no row has a label", id="unlabelled"
        ),
        pytest.param(
            HEADER + "claims,letter,a,b\n", "row 2: 4 cells, but the header names 5", id="short"
        ),
        pytest.param(
            "domain,field,expected,answer,label\n1,2,3,4,yes\n",
            "row 1: the column 'actual' is missing",
            id="other-column",
        ),
        pytest.param(
            HEADER.replace(",", ";") + "claims;letter;a;b;yes\n",
            "parted by other signs; save it as CSV with commas",
            id="semicolons",
        ),
        pytest.param(HEADER + 'claims,letter,"a,b,yes\n', "row 2: a double quote is", id="open"),
    ],
)
def test_a_bad_table_is_refused_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    path = table(tmp_path, text)

    with pytest.raises(LoadingError) as raised:
        read_labels(path)

    assert str(path) in str(raised.value)
    assert told in str(raised.value)


@given(st.text())
def test_a_defused_cell_begins_no_formula_and_comes_back(cell: str) -> None:
    assert not defused(cell).startswith(FORMULA)
    assert cell == as_it_was(defused(cell))


def test_a_table_is_written_with_an_empty_label_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    case = LabelledCase(
        domain="claims",
        field="letter",
        expected='=HYPERLINK("http://x")',
        actual='D\u00e4r Ms, "Ray"\nwe, too',
        run=("C_1", "2", "a:b"),
    )

    write_cases(path, [case])

    with path.open(encoding="utf-8-sig", newline="") as file:
        header, row = csv.reader(file)
    assert (list(COLUMNS), "") == (header, row[-1])
    assert row[5].startswith("'=")
    with path.open("a", newline="") as file:
        file.write("claims,C_2,1,,letter,x,y,yes\r\n")
    read = read_labels(path)[0]
    assert (case.expected, case.actual, case.run) == (read.expected, read.actual, read.run)
    assert "row 2, C_1/t2 (a:b)" == read.name


def test_a_table_with_labels_is_never_replaced(tmp_path: Path) -> None:
    path = table(tmp_path, "what people wrote")

    with pytest.raises(JudgeError, match="is there already, and may hold labels"):
        write_cases(path, [])

    assert "what people wrote" == path.read_text()
