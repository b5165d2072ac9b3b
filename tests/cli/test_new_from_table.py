"""`sopbench new NAME --from FILE`: old cases and a document become a domain."""

from __future__ import annotations

import csv
import json
import runpy
import shlex
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner, Result

from pytest_sopbench.cli import main
from tests.builders.domains import load_domain

OLD_CASES = Path(__file__).parents[2] / "docs" / "files" / "old_cases.py"
TABLE = """\
Case No,Reason,Customer name,Order value,Order date,Decision,Amount,Decision reason,Checked
001,late,Ada Abel,10.5,2025-01-02,pay,10.5,because,ja
002,late,Ben Brandt,20,2025-01-03,refuse,0,because,nein
003,broken,Carla Conti,30,,pay,30,because,ja
004,broken,Dirk Dorn,40,2025-01-05,Pay,40,because,nein
"""
GIVEN_AWAY = "Case No,Reason,Amount 2,Decision,Amount\n" + "".join(
    f"{number:03},{reason},{number},{decision},{number}\n"
    for number, reason, decision in zip(
        range(20), ["late", "broken", "late", "new"] * 5, ["pay", "no"] * 10, strict=True
    )
)
ONE_ANSWER = "".join(f"{line.rsplit(',', 3)[0]}\n" for line in TABLE.splitlines())
ROLES = ("--output", "Decision", "--output", "Amount", "--input", "Reason", "--sop", "sop.md")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sop.md").write_text("# Refunds\n\n1.1 Pay.\n", "utf-8")
    Path("cases.csv").write_text(TABLE, "utf-8")


def sopbench(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def made(*arguments: str, table: str = TABLE) -> tuple[Result, dict[str, Any]]:
    """Make a domain of a table, and return its metadata."""
    Path("cases.csv").write_text(table, "utf-8")
    result = sopbench("new", "refunds", "--from", "cases.csv", *arguments)
    path = Path("domains/refunds/metadata.json")
    assert path.is_file(), result.output
    return result, json.loads(path.read_text("utf-8"))


def rows() -> list[dict[str, str]]:
    with Path("domains/refunds/data.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_messy_workbook_becomes_a_domain_that_loads() -> None:
    old_cases = runpy.run_path(str(OLD_CASES))
    old_cases["make_workbook"]()
    old_cases["make_document"]()

    result = sopbench(
        *("new", "refunds", "--from", "cases.xlsx", "--sheet", "Q3", "--id", "Case No"),
        *("--output", "Decision", "--output", "Amount", "--input", "Case reason"),
        *("--input", "Customer tier", "--private", "Customer name", "--sop", "procedure.docx"),
    )

    domain = load_domain(Path("domains/refunds"))
    assert 0 == result.exit_code
    assert () == domain.warnings
    assert 394 == len(domain.task_ids)
    assert "0004711" == domain.task_ids[0]
    assert ("case_no", "case_reason", "customer_tier") == domain.input_columns
    assert ("order_date", "order_value", "order_final_sale") == domain.lookups["get_order"].returns
    assert "2025-07-12" == domain.tasks[0].results["order_date"]
    assert domain.tasks[0].results["order_final_sale"] is True


def test_the_labels_of_the_workbook_follow_its_procedure() -> None:
    """But for two cases that somebody decided otherwise; reading the workbook changes no label."""
    old_cases = runpy.run_path(str(OLD_CASES))
    old_cases["make_workbook"]()
    sopbench(
        *("new", "refunds", "--from", "cases.xlsx", "--output", "Decision", "--output", "Amount"),
        *("--input", "Case reason", "--sop", "sop.md"),
    )

    different = list[str]()
    for row in rows():
        case: dict[str, object] = {
            "reason": row["Case reason"],
            "tier": row["Customer tier"],
            "value": row["Order value"],
            "fee": row["Return fee"],
            "final sale": row["Order final sale"] == "true",
            "condition": row["Return condition"],
            **old_cases["dates_of"](row["Order date"], row["Return received"]),
        }
        decision, amount = old_cases["decided"](case)
        if (decision, float(amount)) != (row["Decision"], float(row["Amount"])):
            different.append(row["Case No"])

    assert ["0005071", "0005338"] == different


def test_everything_is_shown() -> None:
    result, _ = made(*ROLES, "--private", "Customer name")

    lines = result.stdout.splitlines()
    assert "cases    cases.csv: 4 rows under the header in row 1" in lines
    assert "Case No                  id       text     001, 002, 003" in lines
    assert "Customer name            private  text     (hidden)" in lines
    assert "Order date               tool     date     2025-01-02, 2025-01-03, 2025-01-05" in lines
    assert "values   Decision (enum): pay 2, refuse 1, Pay 1" in lines
    assert "tools    get_order(case_no) -> order_value, order_date" in lines
    assert "dropped  Decision reason: its name begins with 'Decision'" in lines
    assert "- 'Case No' is taken for the id; --id names another column" in result.stdout
    assert "- Decision: 'Pay' is written as 'pay' in 1 cell" in result.stdout
    assert "Checked: it stands right of the answer" in result.stdout


def test_labels_that_count_as_one_are_written_as_the_most_frequent() -> None:
    _, metadata = made(*ROLES)

    assert ["pay", "refuse", "pay", "pay"] == [row["Decision"] for row in rows()]
    assert ["pay", "refuse"] == metadata["outputs"]["decision"]["values"]


def test_spellings_of_one_answer_are_one_in_a_short_table_as_well() -> None:
    """Of four values in five rows nobody knows that they are labels, so the output is text."""
    answers = ("Pay", "Deny", "pay", "Pay", "Hold (temp)")
    table = "Case,Amount,Decision\n" + "".join(
        f"{number},{number}0.5,{answer}\n" for number, answer in enumerate(answers, 1)
    )
    result, metadata = made(
        *("--id", "Case", "--output", "Decision", "--input", "Amount", "--sop", "sop.md"),
        table=table,
    )

    assert {"type": "text"} == metadata["outputs"]["decision"]
    assert ["Pay", "Deny", "Pay", "Pay", "Hold (temp)"] == [row["Decision"] for row in rows()]
    assert "Decision: 'pay' is written as 'Pay' in 1 cell" in result.output
    assert "equal-labels" not in result.output


def test_it_ends_with_what_the_audit_finds() -> None:
    result, _ = made(*ROLES, "--input", "Amount 2", table=GIVEN_AWAY)

    audit = result.stdout.partition("audit: refunds")[2]
    assert "answer-in-input" in audit
    assert audit.index("answer-in-input") < audit.index("go on with")


def test_what_tells_of_persons_reaches_no_agent_unless_it_is_asked_for() -> None:
    result, metadata = made(*ROLES)

    assert ["customer_name"] == metadata["private_columns"]
    assert "Ada" not in result.stdout
    assert "no agent sees 'Customer name'" in result.stdout


def test_a_column_that_is_asked_for_is_served_whatever_it_tells_of() -> None:
    _, metadata = made(*ROLES, "--tool", "Customer name", "--tool", "Decision reason")

    served = {name for tool in metadata["tools"].values() for name in tool["returns"]}
    assert {"customer_name", "decision_reason"} <= served
    assert "private_columns" not in metadata


@pytest.mark.parametrize("word", ["NULL", "n/a", "None", "nan"])
def test_a_word_for_nothing_is_no_answer_where_answers_are_numbers(word: str) -> None:
    table = TABLE.replace("refuse,0,", f"refuse,{word},")

    result, _ = made(*ROLES, table=table)

    assert ["001", "003", "004"] == [row["Case No"] for row in rows()]
    assert f"row 3 (002): Amount is {word!r}, which stands for no answer" in result.stdout


def test_values_of_private_columns_are_in_no_note() -> None:
    table = TABLE.replace("10.5,2025-01-02", "1.234,02/03/2025").replace("20,2025", '"5,5",2025')

    result, _ = made(*ROLES, "--private", "Order value", "--private", "Order date", table=table)

    assert "'9.999'" in result.stdout
    assert "1.234" not in result.stdout
    assert "02/03" not in result.stdout


def test_the_report_in_the_folder_is_what_was_shown() -> None:
    result, _ = made(*ROLES)

    report = Path("domains/refunds/import.txt").read_text("utf-8")

    assert result.stdout.startswith(report)


def test_what_is_private_reaches_neither_the_agent_nor_an_example() -> None:
    table = TABLE.replace("late,Ada", "late for Ada Abel,Ada", 1)

    result, metadata = made(*ROLES, "--private", "Customer name", table=table)

    domain = load_domain(Path("domains/refunds"))
    assert ["customer_name"] == metadata["private_columns"]
    assert frozenset({"customer_name"}) == domain.private_columns
    assert "customer_name" not in {*domain.input_columns, *domain.lookups}
    assert "Ada Abel" not in result.stdout
    assert "Ada Abel" not in Path("domains/refunds/import.txt").read_text("utf-8")


def test_values_of_a_private_output_are_not_shown() -> None:
    result, metadata = made(*ROLES, "--private", "Decision")

    assert "values   Decision (enum): 3 values (hidden)" in result.stdout
    assert {"type": "enum"} == metadata["outputs"]["decision"]
    assert "refuse" not in result.stdout
    assert "refuse" not in Path("domains/refunds/agent.py").read_text("utf-8")


def test_rows_without_an_answer_are_left_out_by_name() -> None:
    table = TABLE.replace("refuse", "").replace("003,", ",")

    result, _ = made(*ROLES, "--id", "Case No", table=table)

    assert ["001", "004"] == [row["Case No"] for row in rows()]
    assert "left out row 3 (002): Decision is empty" in result.stdout
    assert "row 4: Case No is empty" in result.stdout
    assert "to keep a row, write its answer into the table;" in result.stdout


OF_MAILS = ("--id", "Case", "--output", "Decision", "--input", "Amount", "--sop", "sop.md")


@pytest.mark.parametrize(
    ("amounts", "written"),
    [
        pytest.param(
            ("1.200,50", "12,00", "5,10", "7,25"),
            ["1200.50", "12.00", "5.10", "7.25"],
            id="decimal commas",
        ),
        pytest.param(
            ("10.50", "20.25", "30.75", "40.00"),
            ["10.50", "20.25", "30.75", "40.00"],
            id="decimal points",
        ),
    ],
)
def test_a_row_that_is_left_out_decides_nothing_about_the_others(
    amounts: tuple[str, ...], written: list[str]
) -> None:
    cells = zip(
        range(1, 6), (*amounts, "see mail"), ["Pay", "Pay", "Deny", "Deny", ""], strict=True
    )
    table = "Case;Amount;Decision\n" + "".join(";".join(map(str, row)) + "\n" for row in cells)

    result, _ = made(*OF_MAILS, "--yes", table=table)

    domain = load_domain(Path("domains/refunds"))
    assert "left out row 6 (5): Decision is empty" in result.output
    assert "Amount                   input    number" in result.output
    assert "cells of another kind" not in result.output
    assert written == [row["Amount"] for row in rows()]
    assert [float(one) for one in written] == [one.inputs["amount"] for one in domain.tasks]


def test_a_remark_on_cells_of_a_row_that_is_left_out_is_not_made() -> None:
    table = "Case,Day,Fee,Decision\n1,03.04.2025,5,Pay\n2,soon,5,\n3,05.04.2025,5,Deny\n"

    result, _ = made(
        *("--id", "Case", "--output", "Decision", "--input", "Day", "--sop", "sop.md"), table=table
    )

    assert ["2025-04-03", "2025-04-05"] == [row["Day"] for row in rows()]
    assert "Day: dates with the day first are written as 2026-12-31" in result.output
    assert "cells of another kind" not in result.output


def test_the_type_of_an_id_is_that_of_the_rows_that_are_kept() -> None:
    table = "Case,Reason,Fee,Decision\n1,late,5,Pay\nx,late,5,\n3,new,7,Deny\n"

    made(
        *("--id", "Case", "--output", "Decision", "--input", "Reason", "--sop", "sop.md"),
        table=table,
    )

    (spec,) = json.loads(Path("domains/refunds/toolspecs.json").read_text("utf-8"))
    assert {"case": {"type": "number"}} == spec["parameters"]["properties"]
    assert [1, 3] == [one.inputs["case"] for one in load_domain(Path("domains/refunds")).tasks]


def test_a_row_that_no_answer_would_keep_has_no_such_advice() -> None:
    result, _ = made(*ROLES, "--id", "Case No", table=TABLE.replace("003,", ","))

    assert "left out row 4: Case No is empty" in result.stdout
    assert "to keep a row" not in result.stdout


def test_of_equal_rows_one_stays_and_of_others_with_one_id_none() -> None:
    first = TABLE.splitlines()[1]
    table = f"{TABLE}{first}\n{first.replace('late', 'early').replace('001', '002')}\n"

    result, _ = made(*ROLES, "--id", "Case No", table=table)

    assert ["001", "003", "004"] == [row["Case No"] for row in rows()]
    assert "row 6 (001): the same as row 2" in result.stdout
    told = "rows 3 (002), 7 (002): rows 3, 7 have this id and differ, so none is taken"
    assert told in " ".join(result.stdout.split())


def test_a_dry_run_lists_every_row_and_writes_nothing() -> None:
    many = "".join(f"{number},late,x,1,,,1,y,ja\n" for number in range(100, 130))
    Path("cases.csv").write_text(TABLE + many, "utf-8")

    dry = sopbench("new", "refunds", "--from", "cases.csv", *ROLES, "--dry-run").stdout
    written = Path("domains").exists()
    listed = sopbench("new", "refunds", "--from", "cases.csv", *ROLES).stdout

    report = Path("domains/refunds/import.txt").read_text("utf-8")
    for text in (dry, report):
        assert 1 == text.count("Decision is empty")
        assert 30 == sum(text.count(f"({number})") for number in range(100, 130))
    assert "rows 6 (100), 7 (101), 8 (102), 9 (103) and 26 more: Decision is empty" in listed
    assert "import.txt has all 30 rows" in listed
    assert not written


def test_ids_of_a_workbook_stay_text(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["No", "In", "Decision"], ["12", 1.0, "a"], ["13", 2.0, "b"], ["14", 3.0, "a"]):
        sheet.append(row)
    book.save(tmp_path / "cases.xlsx")

    sopbench(
        *("new", "refunds", "--from", "cases.xlsx", "--output", "Decision", "--input", "In"),
        *("--sop", "sop.md"),
    )

    task = load_domain(Path("domains/refunds")).tasks[0]
    assert {"no": "12", "in": 1} == task.inputs


def test_names_become_fields_that_models_can_write() -> None:
    _, metadata = made(
        *("--output", "Ergebnis / final", "--input", "Größe", "--input", "2. Grund", "--sop"),
        *("sop.md", "--id", "编号"),
        table="编号,Größe,2. Grund,größe,Ergebnis / final\na,1,x,3,pay\nb,2,y,4,no\n",
    )

    assert ["column_1", "grosse", "n_2_grund"] == metadata["input_columns"]
    assert ["ergebnis_final"] == metadata["output_columns"]
    assert "größe" == metadata["columns"]["grosse_2"]


def test_without_columns_left_there_are_no_tools() -> None:
    result, metadata = made(*ROLES, table="No,Reason,Decision,Amount\n1,a,x,1\n2,b,y,2\n")

    assert "tools" not in metadata
    assert "tools    none: no column is left for them" in result.stdout
    assert () == load_domain(Path("domains/refunds")).tool_specs


@pytest.mark.parametrize(
    ("arguments", "problem", "advice"),
    [
        pytest.param((), "also needed: --output", "its columns: 'Case No'", id="nothing said"),
        pytest.param(("--input", "Reason"), "also needed: --output", "its columns", id="no output"),
        pytest.param(
            (*ROLES, "--output", "Decison"), "no column 'Decison'", "mean 'Decision'", id="slip"
        ),
        pytest.param((*ROLES, "--id", "zzz"), "no column 'zzz'", "it has 'Case No'", id="unknown"),
        pytest.param(
            (*ROLES, "--input", "DECISION"), "by --output and by --input", "keep it", id="both"
        ),
        pytest.param((*ROLES, "--private", "Reason"), "by --private and", "keep", id="given"),
        pytest.param((*ROLES, "--id", "Checked"), "2 values in 4 rows: no id", "--id", id="no id"),
        pytest.param((*ROLES, "--output", "decision"), "named twice", "", id="twice"),
        pytest.param((*ROLES, "--input", ""), "is empty", "", id="empty name"),
        pytest.param((*ROLES, "--sheet", "Q3"), "has no sheets", "--sheet off", id="sheet"),
        pytest.param((*ROLES, "--header", "9"), "has no row 9", "--header 2", id="header"),
    ],
)
def test_a_mistake_gets_one_clear_line_and_writes_nothing(
    arguments: tuple[str, ...], problem: str, advice: str
) -> None:
    result = sopbench("new", "refunds", "--from", "cases.csv", *arguments)

    assert 2 == result.exit_code
    assert 2 >= len(result.stderr.splitlines())
    assert result.stderr.startswith("sopbench: cases.csv: ")
    assert problem in result.stderr
    assert advice in result.stderr
    assert not Path("domains").exists()


def test_a_column_that_may_be_two_is_asked_back() -> None:
    Path("cases.csv").write_text("No,Case Date,case  date,Decision\n1,a,b,x\n2,c,d,y\n", "utf-8")

    result = sopbench(
        *("new", "refunds", "--from", "cases.csv", "--output", "Decision"),
        *("--input", "CASE DATE", "--sop", "sop.md"),
    )

    assert "may mean 'Case Date' (B) or 'case date' (C)" in result.stderr


def test_options_of_a_table_need_one() -> None:
    result = sopbench("new", "refunds", "--sheet", "Q3")

    assert 2 == result.exit_code
    assert "--sheet is about a table; give --from as well" in result.stderr


def test_yes_takes_every_proposal() -> None:
    result, metadata = made("--yes", "--sop", "sop.md", table=ONE_ANSWER)

    assert 0 == result.exit_code
    assert "case_no" == metadata["id_column"]
    assert ["case_no", "reason"] == metadata["input_columns"]
    assert ["customer_name"] == metadata["private_columns"]
    assert "names decide: columns that share their first word" in " ".join(result.stdout.split())


VEHICLES = "case_id,weight,vehicle_class,vehicle_limit,{}\n" + "".join(
    f"P{number},{number},{kind},{limit},{{}}\n"
    for number, (kind, limit) in enumerate([("van", 3), ("car", 1), ("truck", 8)] * 2, 1)
)


def vehicles(*columns: tuple[str, str]) -> str:
    """Write a table of six cases with columns behind them, each with its cells in one text."""
    names = ",".join(name for name, _ in columns)
    rows = zip(*(cells.split() for _, cells in columns), strict=True)
    return VEHICLES.format(names, *map(",".join, rows))


DECIDED = ("decision", "yes no refer yes no yes")


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(("fee", "10 0 12 10 0 11"), id="numbers"),
        pytest.param(("route", "north south north south north south"), id="labels"),
        pytest.param(("final outcome", "sent kept sent kept sent sent"), id="named as answers are"),
        pytest.param(("decision_code", "A B B A B A"), id="named by the answer"),
    ],
)
def test_yes_loses_no_second_answer(second: tuple[str, str]) -> None:
    """What is not judged can never be wrong, and nobody has read what is left out."""
    Path("cases.csv").write_text(vehicles(DECIDED, second), "utf-8")
    word = shlex.quote(second[0])

    result = sopbench("new", "permits", "--from", "cases.csv", "--yes", "--sop", "sop.md")

    assert 2 == result.exit_code
    assert f"'{second[0]}' may be expected as well as 'decision'" in result.stderr
    assert f"give --output decision --output {word}, or --output decision" in result.stderr
    assert not Path("domains").exists()


def test_what_the_refusal_names_takes_the_second_answer() -> None:
    table = vehicles(DECIDED, ("fee", "10 0 12 10 0 11"))
    both = ("--output", "decision", "--output", "fee")

    result, metadata = made("--yes", *both, "--sop", "sop.md", table=table)

    assert ["decision", "fee"] == metadata["output_columns"]
    assert "dropped" not in result.stdout


def test_a_second_answer_that_is_left_out_by_name_is_told_with_what_takes_it() -> None:
    table = vehicles(DECIDED, ("fee", "10 0 12 10 0 11"))

    result, metadata = made("--yes", "--output", "decision", "--sop", "sop.md", table=table)

    assert ["decision"] == metadata["output_columns"]
    told = " ".join(result.stdout.split())
    assert "'fee' is dropped and not judged" in told
    assert "to judge it as well: --output decision --output fee" in told


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(("decided_on", " ".join(f"2025-01-0{day}" for day in range(1, 7))), id="date"),
        pytest.param(("note", "late heavy early asked again open"), id="remarks"),
        pytest.param(("copy", DECIDED[1]), id="the answer once more"),
    ],
)
def test_what_is_written_with_an_answer_is_no_second_one(column: tuple[str, str]) -> None:
    table = vehicles(DECIDED, column)

    result, metadata = made("--yes", "--sop", "sop.md", table=table)

    assert ["decision"] == metadata["output_columns"]
    assert f"dropped  {column[0]}: " in result.stdout
    assert column[0] not in json.dumps(metadata)


def test_columns_that_are_called_expected_are_proposed_together() -> None:
    """Wherever they stand: neither is given to the agent, nor served by a tool."""
    table = "case_id,expected_fee,expected_route,weight\n1,3,north,5\n2,0,south,7\n3,3,south,8\n"

    _, metadata = made("--yes", "--sop", "sop.md", table=table)

    assert ["expected_fee", "expected_route"] == metadata["output_columns"]
    assert ["case_id", "weight"] == metadata["input_columns"]


def test_a_column_that_is_called_expected_is_no_tool_beside_another() -> None:
    table = "case_id,expected_fee,expected_route,weight\n1,3,north,5\n2,0,south,7\n3,3,south,8\n"

    result, metadata = made("--yes", "--output", "expected_fee", "--sop", "sop.md", table=table)

    assert "dropped  expected_route: its name begins as that of 'expected_fee'" in result.stdout
    assert "tools" not in metadata


def test_of_two_answers_the_plainest_name_is_proposed_and_the_other_is_given_to_nobody() -> None:
    table = ONE_ANSWER.replace("Order date,Decision", "Approved by manager,Decision")

    result, metadata = made("--yes", "--sop", "sop.md", table=table)

    assert ["decision"] == metadata["output_columns"]
    assert "the answer is taken to be 'Decision'; --output names other" in result.stdout
    assert "approved_by_manager" not in json.dumps(metadata)


def test_a_table_of_ids_alone_has_no_answer() -> None:
    Path("cases.csv").write_text("No\n1\n2\n3\n", "utf-8")

    result = sopbench("new", "refunds", "--from", "cases.csv", "--yes", "--sop", "sop.md")

    assert 2 == result.exit_code
    assert "no column beside the id holds an answer" in result.output
    assert not Path("domains").exists()


def test_an_input_that_repeats_the_answer_is_told() -> None:
    result, _ = made(
        *("--output", "Decision", "--input", "Copy", "--sop", "sop.md"),
        table="No,Copy,Decision\n1,PAY,pay\n2,no,no\n",
    )

    assert "Copy is an input, and it has the values of 'Decision'" in result.stdout
