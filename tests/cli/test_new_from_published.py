"""`sopbench new NAME --from FOLDER`: published folders, and what their code is seen to do."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench import Domain
from pytest_sopbench._cli import new
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.runner import run_task
from pytest_sopbench._running.tools.domain_code import load_manager_factory
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.cli import main
from pytest_sopbench.errors import ToolError

ROWS = """\
,parcel_id,label,weight,zone,checked,route
0,007,red tape,12.5,A,True,north
1,008,"blue, old",3,B,False,south
2,009,none,,,True,north
3,010,green,4,A,False,south
"""
PARAMETERS = {"parcel_id": {"type": "string"}, "label": {"type": "string"}}
HEAD = """
import csv, random, pathlib
HERE = pathlib.Path(__file__).parent

class ParcelManager:
    def __init__(self):
        with open(HERE / "test_set_with_outputs.csv") as stream:
            self.rows = {row["parcel_id"]: row for row in csv.DictReader(stream)}

    def process_tool_call(self, name, arguments):
        row = self.rows.get(arguments["parcel_id"])
        if row is None:
            raise ValueError("no such parcel")
"""
BODIES = {
    "look-up": """
        if not row["weight"]:
            raise ValueError("not weighed")
        return {"weight": float(row["weight"]), "zone": row["zone"]}
""",
    "look-up with nulls": """
        return {"zone": row["zone"] or None}
""",
    "look-up with a text that is checked": """
        if " ".join(arguments["label"].split()) != row["label"]:
            raise ValueError("another label")
        return {"checked": row["checked"] == "True"}
""",
    "bare": """
        return row["checked"] == "True"
""",
    "constant": """
        return {"status": "sent"}
""",
    "computed": """
        return {"weight": float(row["weight"] or 0) * 2}
""",
    "random": """
        return {"weight": random.random()}
""",
    "output": """
        return {"route": row["route"]}
""",
    "stub": """
        pass
""",
    "foreign": """
        return {"weight": float(row["weight"] or "nan")}
""",
    "fails": """
        raise RuntimeError("no network")
""",
    "ends": """
        import os
        os._exit(3)
""",
    "hangs": """
        import time
        time.sleep(600)
""",
}

Agent = Callable[..., Any]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def audit_of_the_new_folder(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What the audit says has tests of its own, and takes a process more for each import."""
    asked = list[Path]()

    def ask(folder: Path, *, run_code: bool = True) -> Iterator[str]:
        asked.append(folder)
        yield f"audited, code {'run' if run_code else 'not run'}"

    monkeypatch.setattr(new, "to_do_lines", ask)
    return asked


@pytest.fixture
def public_data() -> Path:
    place = os.environ.get("SOPBENCH_DATA")
    if not place:
        pytest.skip("SOPBENCH_DATA does not say where the public domains lie")
    return Path(place) / "sop_bench"


def sopbench(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def published(body: str | None, *, rows: str = ROWS) -> Path:
    """Write a folder of the published layout with one tool."""
    folder = Path("published") / "parcels"
    folder.mkdir(parents=True)
    spec = {
        "name": "weigh",
        "description": "Weighs.",
        "parameters": {"type": "object", "properties": PARAMETERS, "required": ["parcel_id"]},
    }
    metadata = {"name": "Parcels & more", "output_columns": ["route"], "industry": "post"}
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    (folder / "sop.txt").write_text("Route the parcel.\n", "utf-8")
    (folder / "toolspecs.json").write_text(json.dumps([spec]), "utf-8")
    (folder / "test_set_with_outputs.csv").write_text(rows, "utf-8")
    (folder / "LICENSE.md").write_text("as it is", "utf-8")
    if body is not None:
        (folder / "tools.py").write_text(HEAD + body, "utf-8")
    return folder


def imported(body: str | None, *options: str) -> tuple[Result, Path]:
    result = sopbench("new", "parcels", "--from", str(published(body)), *options)
    return result, Path("domains/parcels")


@pytest.mark.parametrize(
    ("body", "entry"),
    [
        pytest.param(
            "look-up",
            {"key": ["parcel_id"], "returns": ["weight", "zone"], "missing": "error"},
            id="columns",
        ),
        pytest.param(
            "look-up with nulls",
            {"key": ["parcel_id"], "returns": ["zone"], "missing": "null"},
            id="columns that may be empty",
        ),
        pytest.param(
            "look-up with a text that is checked",
            {
                "key": ["parcel_id"],
                "check": ["label"],
                "returns": ["checked"],
                "missing": "error",
            },
            id="a text but for its blanks",
        ),
        pytest.param(
            "bare",
            {"key": ["parcel_id"], "value": "checked", "missing": "error"},
            id="one column as it is",
        ),
        pytest.param(
            "constant", {"key": ["parcel_id"], "result": {"status": "sent"}}, id="a constant"
        ),
    ],
)
def test_code_that_is_a_look_up_becomes_one(body: str, entry: dict[str, Any]) -> None:
    result, out = imported(BODIES[body])

    metadata = json.loads((out / "metadata.json").read_text("utf-8"))
    assert {"weigh": entry} == metadata["tools"]
    assert "weigh: a look-up on all 4 rows" in result.stdout
    assert not (out / "tools.py").exists()
    assert (out / "data.csv").is_file()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param("computed", "a look-up answers otherwise on row", id="computed"),
        pytest.param("random", "two equal calls have different answers", id="random"),
        pytest.param("output", "what it returns is no column", id="expected answer"),
        pytest.param("foreign", "its answer is not JSON", id="no json"),
        pytest.param("fails", "it fails on every row: RuntimeError: no network", id="fails"),
        pytest.param("stub", "it returns nothing on every row", id="stub"),
        pytest.param("ends", "it was not called on every row", id="ends the process"),
    ],
)
def test_other_code_is_named_and_kept(body: str, reason: str) -> None:
    result, out = imported(BODIES[body])

    told = " ".join(result.stdout.split())
    assert reason in told
    assert "its code is kept" in told
    assert "tools" not in json.loads((out / "metadata.json").read_text("utf-8"))
    assert (out / "tools.py").read_text("utf-8") == HEAD + BODIES[body]


def test_kept_code_finds_the_rows_that_it_reads() -> None:
    """It opens them by the published name, so they stay under it."""
    _, out = imported(BODIES["computed"])

    domain = load_domain(out)
    manager = load_manager_factory(domain)(domain.tasks[0])
    assert "test_set_with_outputs.csv" == domain.data_file.name
    assert {"weight": 25.0} == manager.process_tool_call("weigh", {"parcel_id": "007"})


def test_code_that_hangs_is_ended() -> None:
    result, out = imported(BODIES["hangs"], "--time-limit", "3")

    assert "it was not done after 3 seconds" in " ".join(result.stdout.split())
    assert "audited, code not run" in result.stdout
    assert (out / "tools.py").is_file()


def test_code_gets_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hush")
    body = '        import os\n        return {"zone": os.environ.get("SECRET_KEY")}\n'

    _, out = imported(body.replace('("SECRET_KEY")}', '("SECRET_KEY", "A")}'))

    metadata = json.loads((out / "metadata.json").read_text("utf-8"))
    assert {"result": {"zone": "A"}, "key": ["parcel_id"]} == metadata["tools"]["weigh"]


def test_without_code_nothing_is_made_up() -> None:
    result, out = imported(None)

    assert "there is no tools.py, so nothing answers for weigh" in result.stdout
    assert "audited, code run" in result.stdout
    assert "tools" not in json.loads((out / "metadata.json").read_text("utf-8"))


def test_rows_ids_and_texts_stay_what_they_are() -> None:
    before = load_domain(published(BODIES["look-up"]))

    sopbench("new", "parcels", "--from", "published/parcels")

    after = load_domain(Path("domains/parcels"))
    assert list(csv.reader(ROWS.splitlines()))[1][1:] == first_cells(after)
    assert before.task_ids == after.task_ids == ("007", "008", "009", "010")
    assert (before.sop, before.input_columns) == (after.sop, after.input_columns)
    assert before.tool_specs == after.tool_specs
    assert [task.inputs for task in before.tasks] == [task.inputs for task in after.tasks]
    assert [task.results for task in before.tasks] == [task.results for task in after.tasks]
    assert [task.expected for task in before.tasks] == [task.expected for task in after.tasks]
    assert ("parcels", "Parcels & more") == (after.name, before.title)
    assert "as it is" == Path("domains/parcels/LICENSE.md").read_text("utf-8")
    assert () == after.warnings


def first_cells(domain: Domain) -> list[str]:
    with domain.data_file.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))[1]


def test_a_dry_run_writes_nothing() -> None:
    result, out = imported(BODIES["look-up"], "--dry-run")

    assert "would be written" in result.stdout
    assert not out.parent.exists()


@pytest.mark.parametrize(
    ("folder", "name", "to", "problem"),
    [
        pytest.param("missing", "x", "domains", "missing: no such file or folder", id="no folder"),
        pytest.param("ours", "x", "domains", "ours: is no published folder", id="our layout"),
        pytest.param("published/parcels", "ours", ".", "is there already", id="taken"),
        pytest.param("published/parcels", "a b", "domains", "cannot be the name", id="odd name"),
        pytest.param("published/parcels", "x", "ours/metadata.json", "is a file", id="a file"),
        pytest.param(
            "published/parcels", "dangerous_goods", "domains", "is found here", id="bundled"
        ),
    ],
)
def test_a_mistake_gets_one_clear_line(folder: str, name: str, to: str, problem: str) -> None:
    published(None)
    Path("ours").mkdir()
    Path("ours/metadata.json").write_text("{}", "utf-8")

    result = sopbench("new", name, "--from", folder, "--to", to)

    assert 2 == result.exit_code
    assert problem in result.stderr
    assert not Path("domains").exists()


MANAGER = '''
import csv, json, pathlib
HERE = pathlib.Path(__file__).parent
KEY = @KEY@
SERVED = @SERVED@

with open(HERE / "test_set_with_outputs.csv", encoding="utf-8-sig", newline="") as stream:
    ROWS = {row[KEY]: row for row in csv.DictReader(stream)}


class Manager:
    """Looks a record up by its key."""

    def process_tool_call(self, name, arguments):
        row = ROWS.get(arguments[KEY])
        if row is None:
            raise ValueError("no record")
        served = {column: row[column] for column in SERVED[name]}
        if not any(served.values()):
            raise ValueError("nothing is known")
        return {column: read(value) for column, value in served.items()}


def read(value):
    try:
        return float(value)
    except ValueError:
        return value or None
'''
SERVED: dict[str, tuple[str, dict[str, list[str]]]] = {
    "dangerous_goods": (
        "product_id",
        {
            "calculate_sds_label_score": ["sds_label_score"],
            "calculate_disposal_score": ["disposal_score"],
        },
    ),
    "customer_service": (
        "account_id",
        {"checkAccountStatus": ["account_status"], "createEscalation": ["escalation_team"]},
    ),
    "patient_intake": (
        "patient_id",
        {"registerPatient": ["blood_type"], "verifyPharmacy": ["allergy_severity"]},
    ),
}


def with_code(source: Path, name: str) -> Path:
    """Copy a public folder, and give it code that serves text columns of the row."""
    folder = Path("published") / name
    shutil.copytree(source / name, folder)
    key, served = SERVED[name]
    domain = load_domain(folder)
    columns = set(domain.tasks[0].results)
    full = {spec.name: ["no_such_column"] for spec in domain.tool_specs}
    full |= {tool: names for tool, names in served.items() if columns >= set(names)}
    code = MANAGER.replace("@KEY@", repr(key)).replace("@SERVED@", repr(full))
    (folder / "tools.py").write_text(code, "utf-8")
    return folder


def outcomes(domain: Domain, agent: Agent) -> list[Any]:
    """Run an agent on every task, and return what was judged and called."""
    code = load_manager_factory(domain) if domain.tools_file is not None else None
    boxes = ToolboxFactory(domain, code)
    rules = JudgingRules(fields=domain.fields, contract=None, expected_calls={})
    found = list[Any]()
    for task in domain.tasks:
        box = boxes.open(task, max_calls=100, clock=lambda: 0.0)
        trace = run_task(
            AgentCaller(agent), domain, task, box, clock=lambda: 0.0, unavailable=lambda _: False
        )
        verdict = judge(rules, task, trace)
        calls = [(call.name, call.result, call.error is None) for call in trace.calls]
        found.append((task.id, verdict.outcome, verdict.answer, verdict.mismatches, calls))
    return found


def asks_every_tool(inputs: Mapping[str, Any], tools: Any, output_fields: Any) -> object:
    """Answer by what the tools say, so that another answer of theirs is another of its own."""
    said = list[object]()
    for spec in tools.json_schema():
        shape = spec.get("parameters", spec)
        given = {name: inputs[name] for name in shape["properties"] if name in inputs}
        try:
            said.append(tools.call(spec["name"], **given))
        except ToolError:
            said.append(None)
    # JSON has one kind of numbers, and 5.0 is 5.
    number = sum(map(ord, json.dumps(said, sort_keys=True).replace(".0", "")))
    return {
        name: values[number % len(values)] if isinstance(values, list) and values else "valid"
        for name, values in output_fields.items()
    }


def asks_with_a_wrong_id(inputs: Mapping[str, Any], tools: Any, output_fields: Any) -> object:
    return asks_every_tool(dict.fromkeys(inputs, "nobody"), tools, output_fields)


def always_the_first(output_fields: Any) -> object:
    return {
        name: values[0] if isinstance(values, list) and values else "valid"
        for name, values in output_fields.items()
    }


@pytest.mark.parametrize("name", SERVED)
def test_public_folders_are_judged_as_before(public_data: Path, name: str) -> None:
    folder = with_code(public_data, name)

    result = sopbench("new", f"{name}_2", "--from", str(folder), "--to", "out")

    before, after = load_domain(folder), load_domain(Path("out") / f"{name}_2")
    assert before.task_ids == after.task_ids
    assert "a look-up on all" in result.stdout
    for agent in (asks_every_tool, asks_with_a_wrong_id, always_the_first):
        assert outcomes(before, agent) == outcomes(after, agent)
