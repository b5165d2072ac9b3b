"""The tasks file: which tasks must pass, and which may fail until a day."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from genai_prices import Usage as LibraryUsage
from genai_prices import calc_price

from pytest_sopbench import ApprovalRequest, Domain
from pytest_sopbench._core.contract import Contract, Rule
from pytest_sopbench._core.demands import Forbids
from pytest_sopbench._core.gates.quarantine import TaskPolicy
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._loading.prices import LibraryPrices, read_price_file
from pytest_sopbench._loading.quarantine_file import check_tasks, read_tasks_file
from pytest_sopbench._loading.steps_file import read_script
from pytest_sopbench.errors import LoadingError

TEXT = """\
# what we know

["lab/T_01"]
must_pass = true

["lab/T/02 ]"]
may_fail = "the tool is flaky"
until = 2026-12-01
issue = "#12"
"""


def lab(*tasks: str, rules: tuple[str, ...] = ()) -> Domain:
    found = tuple(Rule(id=one, demand=Forbids(tools=("wire",))) for one in rules)
    return Domain(
        name="lab",
        folder=Path(),
        data_file=Path("data.csv"),
        sop="",
        tool_specs=(),
        fields=(),
        tasks=(),
        task_ids=tasks,
        input_columns=(),
        contract=Contract(rules=found) if found else None,
    )


def write(folder: Path, text: str) -> Path:
    path = folder / "sop_tasks.toml"
    path.write_text(text, "utf-8")
    return path


def test_entries_are_read(tmp_path: Path) -> None:
    found = read_tasks_file(write(tmp_path, TEXT))

    first, second = TaskName("lab", "T_01"), TaskName("lab", "T/02 ]")
    assert {
        first: TaskPolicy(name=first, must_pass=True),
        second: TaskPolicy(
            name=second,
            may_fail="the tool is flaky",
            until=date(2026, 12, 1),
            issue="#12",
        ),
    } == found.entries


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    assert {} == read_tasks_file(write(tmp_path, "")).entries


ENTRY = 'may_fail = "r"\nuntil = 2026-12-01\n'


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        pytest.param("mustpass = true", 4, "mustpass: unknown key", "'must_pass'?", id="near key"),
        pytest.param("zzz = 1", 4, "zzz: unknown key", "must_pass, may_fail", id="unknown key"),
        pytest.param(
            f"{ENTRY}must_pass = true", 4, "must pass may not fail", "keep one", id="both"
        ),
        pytest.param(
            "must_pass = true\nuntil = 2026-12-01", 5, "until: a task that must", "", id="an end"
        ),
        pytest.param("must_pass = false", 4, "true expected, got False", "leave it", id="false"),
        pytest.param('may_fail = "r"', 3, "has no until", "until = YYYY", id="no end"),
        pytest.param("until = 2026-12-01", 3, "neither must_pass nor may_fail", "", id="no reason"),
        pytest.param("", 3, "neither must_pass nor may_fail", "", id="nothing"),
        pytest.param('may_fail = " "', 4, "may_fail: a text expected", "", id="empty reason"),
        pytest.param("may_fail = true", 4, "a text expected, got True", "", id="no text"),
        pytest.param(
            'may_fail = "r"\nuntil = "2026-12-01"', 5, "a date expected", "quotes", id="text date"
        ),
        pytest.param(
            'may_fail = "r"\nuntil = 2026-12-01T00:00:00', 5, "a date expected", "", id="instant"
        ),
        pytest.param(f"{ENTRY}issue = 12", 6, "issue: a text expected, got 12", "", id="issue"),
        pytest.param('may_break = ["a"]', 3, "may_break has no until", "until = Y", id="rule"),
        pytest.param(
            'may_break = ["a"]\nmust_pass = true',
            4,
            "may break no rule",
            "keep one",
            id="rule too",
        ),
        pytest.param(f'{ENTRY}may_break = "a"', 6, "a list of rules", '["confirm', id="text rule"),
        pytest.param(f"{ENTRY}may_break = []", 6, "a list of rules", "ids of", id="no rules"),
        pytest.param(f"{ENTRY}may_break = [1]", 6, "a list of rules", "ids of", id="rule 1"),
        pytest.param(f'{ENTRY}may_break = ["a", "a"]', 6, "'a' twice", "once", id="rule twice"),
    ],
)
def test_an_entry_that_says_something_else_is_refused(
    tmp_path: Path, text: str, line: int, message: str, hint: str
) -> None:
    path = write(tmp_path, f'["lab/T_00"]\nmust_pass = true\n["lab/T_01"]\n{text}\n')

    with pytest.raises(LoadingError) as raised:
        read_tasks_file(path)

    assert message in raised.value.problem
    assert "lab/T_01" in raised.value.problem
    assert line == raised.value.row
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[lab/T_01]\nmust_pass = true\n", "not TOML", id="no quotes"),
        pytest.param("[lab.T_01]\nmust_pass = true\n", "['lab']: no name of a task", id="a dot"),
        pytest.param('["T_01"]\nmust_pass = true\n', "no name of a task", id="no domain"),
        pytest.param('["lab/"]\nmust_pass = true\n', "no name of a task", id="no task"),
        pytest.param('"lab/T_01" = true\n', "no name of a task", id="no table"),
        pytest.param('["l b/T_01"]\nmust_pass = true\n', "no name of a domain", id="bad domain"),
        pytest.param('["lab/T"]\n["lab/T"]\n', "not TOML", id="twice"),
    ],
)
def test_what_names_no_task_is_refused_with_an_example(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(LoadingError) as raised:
        read_tasks_file(write(tmp_path, text))

    assert message in str(raised.value)
    assert '["DOMAIN/TASK"]' in raised.value.hint or "letters" in raised.value.hint


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="cannot be read"):
        read_tasks_file(tmp_path / "sop_tasks.toml")


def test_a_task_that_its_domain_does_not_have_is_told_with_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)
    entries = read_tasks_file(path)

    with pytest.raises(LoadingError) as raised:
        check_tasks(path, entries, {"lab": lab("T_001", "T/02 ]")})

    assert 3 == raised.value.row
    assert "domain lab has no task 'T_01'" in raised.value.problem
    assert "did you mean 'T_001'?" == raised.value.hint


@pytest.mark.parametrize(
    ("rules", "problem", "hint"),
    [
        pytest.param(("nowrite",), "has no rule 'nowrit'", "did you mean 'nowrite'?", id="near"),
        pytest.param(("zzzz", "yyyy"), "no rule 'nowrit'", "its rules: zzzz, yyyy", id="far"),
        pytest.param((), "domain lab has no rule", "its rules: none", id="no contract"),
    ],
)
def test_a_rule_that_the_contract_does_not_have_is_told_with_the_line(
    tmp_path: Path, rules: tuple[str, ...], problem: str, hint: str
) -> None:
    path = write(tmp_path, '["lab/T_01"]\nuntil = 2026-12-01\nmay_break = ["nowrit"]\n')
    entries = read_tasks_file(path)

    with pytest.raises(LoadingError) as raised:
        check_tasks(path, entries, {"lab": lab("T_01", rules=rules)})

    assert 3 == raised.value.row
    assert problem in raised.value.problem
    assert hint == raised.value.hint


def test_tasks_of_domains_that_are_not_loaded_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)

    check_tasks(path, read_tasks_file(path), {"other": lab("T_01")})
    check_tasks(path, read_tasks_file(path), {"lab": lab("T_01", "T/02 ]")})


# The file of `sop_approver = scripted:PATH`: what it decides, and what is refused of it.


def script(tmp_path: Path, data: Any) -> Path:
    path = tmp_path / "decisions.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("data", "approved", "reason"),
    [
        pytest.param({"7": True}, True, "", id="approved"),
        pytest.param({"7": False}, False, "", id="denied"),
        pytest.param({"7": "too dear"}, False, "too dear", id="denied-with-a-reason"),
        pytest.param({"6": True}, False, "the script does not decide about step 7", id="unsaid"),
        pytest.param({"*": True}, True, "", id="every-step"),
        pytest.param({"*": True, "7": False}, False, "", id="the-step-before-every-step"),
        pytest.param({"7": True, "lab/T_1": {"7": "no"}}, False, "no", id="the-task-before-all"),
        pytest.param({"7": False, "lab/T_1": {"*": True}}, True, "", id="every-step-of-the-task"),
        pytest.param({"7": True, "lab/T_2": {"7": False}}, True, "", id="another-task"),
    ],
)
def test_a_script_decides(tmp_path: Path, data: Any, approved: bool, reason: str) -> None:
    approver = read_script(script(tmp_path, data))

    decision = approver(ApprovalRequest(step="7", domain="lab", task_id="T_1"))

    assert (approved, "scripted", reason) == (decision.approved, decision.by, decision.reason)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param([True], "must be an object with a decision for each step", id="list"),
        pytest.param({"7": 1}, "column '7': 1 is no decision\nwrite true, false, or", id="number"),
        pytest.param({"7": ""}, "column '7': '' is no decision", id="empty-reason"),
        pytest.param({"T_1": {"7": True}}, "column 'T_1': no task is called so", id="no-domain"),
        pytest.param(
            {"lab/T_1": {"7": None}}, "column 'lab/T_1: 7': None is no decision", id="in-a-task"
        ),
    ],
)
def test_what_is_no_decision_is_refused_with_its_place(
    tmp_path: Path, data: Any, told: str
) -> None:
    path = script(tmp_path, data)

    with pytest.raises(LoadingError) as error:
        read_script(path)

    assert told in str(error.value)


# A file of prices: what it may say, and one clear error for what it may not.

GOOD = """
date = 2026-11-01

[models."openai/gpt-5.2-mini"]
input = 0.25
cached = 0.025
output = 2

[models.local]
input = 0
output = 0
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_prices_are_for_a_million_tokens(tmp_path: Path) -> None:
    table = read_price_file(written(tmp_path, GOOD))

    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000, model="openai/gpt-5.2-mini")
    assert 2.25 == table.cost(usage, "")
    assert "prices.toml of 2026-11-01" == table.label


def test_a_price_of_zero_is_a_price(tmp_path: Path) -> None:
    table = read_price_file(written(tmp_path, GOOD))

    assert 0.0 == table.cost(Usage(input_tokens=9, output_tokens=9, model="local"), "")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param(
            "0.25", "-1", 'models."openai/gpt-5.2-mini".input: -1 is no price', id="minus"
        ),
        pytest.param("0.25", "nan", "input: nan is no price", id="nan"),
        pytest.param("0.25", "inf", "input: inf is no price", id="inf"),
        pytest.param("0.25", '"0.25"', "input: '0.25' is no price", id="text"),
        pytest.param("0.25", "true", "input: True is no price", id="boolean"),
        pytest.param("cached", "cache", "did you mean", id="slip"),
        pytest.param("output = 2\n", "", ".output: it is missing", id="no-output"),
        pytest.param("date = 2026-11-01", "", "date: it is missing", id="no-date"),
        pytest.param("2026-11-01", '"November"', "date: 'November' is no date", id="text-date"),
        pytest.param("2026-11-01", "2026-11-01T10:00:00", "is no date", id="time"),
        pytest.param(GOOD, "date = 2026-11-01", "models: no model has a price", id="no-models"),
        pytest.param("date =", "day =", "day: unknown key", id="unknown-key"),
        pytest.param('"openai/gpt-5.2-mini"', "gpt-5.2-mini", "quote the name", id="unquoted"),
        pytest.param("[models.local]", "[models.local", "line", id="no-toml"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = written(tmp_path, GOOD.replace(old, new, 1))

    with pytest.raises(LoadingError) as caught:
        read_price_file(path)

    assert said in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="No such file"):
        read_price_file(tmp_path / "prices.toml")


def test_a_name_that_no_disk_takes_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="cannot be read"):
        read_price_file(tmp_path / ("p" * 300))


# Prices of genai-prices: asked for what it knows, by the names that the library has.

PRICES = LibraryPrices()
USAGE = Usage(input_tokens=1_000, cached_tokens=400, output_tokens=200, model="openai/gpt-4o-mini")
OWN = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("openai-responses/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("bedrock/amazon.nova-pro-v1:0", "aws", "amazon.nova-pro-v1:0"),
        ("gpt-4o-mini", None, "gpt-4o-mini"),
    ],
)
def test_a_model_costs_what_the_library_says(model: str, provider: str | None, name: str) -> None:
    counts = LibraryUsage(input_tokens=1_000, cache_read_tokens=400, output_tokens=200)

    wanted = calc_price(counts, name, provider_id=provider).total_price

    assert wanted > 0
    assert float(wanted) == PRICES.cost(replace(USAGE, model=model), "")


@pytest.mark.parametrize(
    ("usage", "server"),
    [
        pytest.param(replace(USAGE, model="openai/no-such-model"), "", id="unknown-model"),
        pytest.param(replace(USAGE, model="nobody/gpt-4o-mini"), "", id="unknown-provider"),
        pytest.param(USAGE, OWN, id="server-of-ones-own"),
        pytest.param(replace(USAGE, cached_tokens=1_001), "", id="nonsense"),
        pytest.param(replace(USAGE, output_tokens=None), "", id="unknown-output"),
        pytest.param(replace(USAGE, model=None), "", id="no-model"),
    ],
)
def test_what_the_library_cannot_know_has_no_cost(usage: Usage, server: str) -> None:
    assert PRICES.cost(usage, server) is None


def test_another_providers_address_has_its_prices() -> None:
    """A model of the same name may cost something else there."""
    assert PRICES.cost(USAGE, "https://api.openai.com/v1") == PRICES.cost(USAGE, "")


def test_the_label_has_version_and_day() -> None:
    assert re.fullmatch(r"genai-prices [\d.]+ of 20\d\d-\d\d-\d\d", PRICES.label)
