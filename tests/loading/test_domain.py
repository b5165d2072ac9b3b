from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError

MakeDomain = Callable[..., Path]


def test_a_domain_holds_what_its_folder_says(make_domain: MakeDomain) -> None:
    folder = make_domain(
        title="Parcels",
        description="Where parcels go.",
        industry="logistics",
        licence="CC0-1.0",
        version="1.2",
        reject_bad_arguments=True,
    )

    domain = load_domain(folder)

    assert ("parcels", "Parcels", "Where parcels go.") == (
        domain.name,
        domain.title,
        domain.description,
    )
    assert ("logistics", "CC0-1.0", "1.2") == (domain.industry, domain.licence, domain.version)
    assert folder / "data.csv" == domain.data_file
    assert "1. Weigh the parcel.\n2. Choose the route.\n" == domain.sop
    assert ["weigh_parcel"] == [spec.name for spec in domain.tool_specs]
    assert ["route"] == [field.name for field in domain.fields]
    assert ("P1", "P2", "P3") == domain.task_ids
    assert ("parcel_id", "label") == domain.input_columns
    assert domain.reject_bad_arguments
    assert domain.tools_file is None
    assert domain.policy_file is None
    assert () == domain.warnings


def test_a_domain_can_be_called_otherwise(make_domain: MakeDomain) -> None:
    domain = load_domain(make_domain(), name="letters")

    assert "letters" == domain.name
    assert "letters" == domain.tasks[0].domain


def test_a_domain_cannot_be_called_anything(make_domain: MakeDomain) -> None:
    with pytest.raises(LoadingError, match=r"'\.\./x' cannot be the name of a domain"):
        load_domain(make_domain(), name="../x")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"sop.txt": None}, "no sop.txt and no sop.md and no SKILL.md", id="no-sop"),
        pytest.param({"sop.md": "x"}, "has both sop.txt and sop.md", id="two-sops"),
        pytest.param({"SKILL.md": "x"}, "has both sop.txt and SKILL.md", id="a-skill-beside"),
        pytest.param({"sop.txt": " \n"}, "the file is empty", id="an-empty-sop"),
        pytest.param(
            {"toolspecs.json": None},
            "there are tools and no toolspecs.json",
            id="tools-without-specs",
        ),
        pytest.param(
            {"data.csv": None},
            "no rows: it has neither data.csv nor test_set_with_outputs.csv nor tasks.jsonl",
            id="no-data",
        ),
        pytest.param({"tasks.jsonl": "{}"}, "has both data.csv and tasks.jsonl", id="two-data"),
    ],
)
def test_a_folder_that_lacks_or_doubles_a_file_says_which(
    make_domain: MakeDomain, files: dict[str, str | None], expected: str
) -> None:
    with pytest.raises(LoadingError) as caught:
        load_domain(make_domain(files))

    assert expected == caught.value.problem


def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="gone: no such folder"):
        load_domain(tmp_path / "gone")


def test_of_a_published_folder_the_file_with_outputs_is_read(make_domain: MakeDomain) -> None:
    rows = "parcel_id,label,weight,route\nQ1,red,1,north\n"

    domain = load_domain(make_domain({"test_set_with_outputs.csv": rows}))

    assert ("Q1",) == domain.task_ids
    assert "data.csv is not read, test_set_with_outputs.csv is" in domain.warnings


def test_a_domain_without_tools_is_loaded_with_a_warning(make_domain: MakeDomain) -> None:
    domain = load_domain(make_domain({"toolspecs.json": None}, tools=None))

    assert () == domain.tool_specs
    assert ("no toolspecs.json: the agent has no tools",) == domain.warnings


def test_headers_are_renamed_before_anything_asks_for_them(make_domain: MakeDomain) -> None:
    rows = "parcel_id,label,weight,final status\nP1,red,1,north\n"

    domain = load_domain(make_domain({"data.csv": rows}, columns={"route": "final status"}))

    assert {"route": "north"} == domain.tasks[0].expected


@pytest.mark.parametrize(
    ("files", "keys", "changed"),
    [
        pytest.param({"sop.txt": "Something else."}, {}, {"sop"}, id="the-sop"),
        pytest.param(
            {"sop.txt": "1. Weigh the parcel.  \r\n2. Choose the route."}, {}, set(), id="its-ends"
        ),
        pytest.param({"tools.py": "x = 1"}, {}, {"tools"}, id="the-code-of-tools"),
        pytest.param({}, {"reject_bad_arguments": True}, {"tools"}, id="what-tools-refuse"),
        pytest.param(
            {},
            {"tools": {"weigh_parcel": {"returns": ["weight"]}}},
            {"tools"},
            id="a-look-up-tool",
        ),
        pytest.param({}, {"title": "Other"}, set(), id="the-title"),
        pytest.param(
            {"data.csv": "parcel_id,label,weight,route\nP1,red,9,north\n"},
            {},
            {"data"},
            id="a-row",
        ),
        pytest.param(
            {
                "data.csv": "route,weight,label,parcel_id\r\n"
                'north,"",red,P3\r\nsouth,3,blue,P2\r\nnorth,12.50,red,P1'
            },
            {},
            set(),
            id="the-order-of-rows-and-columns",
        ),
    ],
)
def test_a_hash_changes_with_content_and_not_with_form(
    make_domain: MakeDomain,
    files: dict[str, str],
    keys: dict[str, Any],
    changed: set[str],
) -> None:
    before = load_domain(make_domain(folder="before")).hashes
    after = load_domain(make_domain(files, folder="after", **keys)).hashes

    assert {"sop", "specs", "tools", "data"} == set(before)
    assert changed == {name for name in before if before[name] != after[name]}


def test_the_hash_of_specs_is_the_same_in_each_shape(make_domain: MakeDomain) -> None:
    (spec,) = json.loads((make_domain() / "toolspecs.json").read_text())
    bedrock = {
        "toolSpec": {
            "name": spec["name"],
            "description": spec["description"],
            "inputSchema": {"json": spec["parameters"]},
        }
    }

    plain = load_domain(make_domain(folder="plain"))
    wrapped = load_domain(make_domain({"toolspecs.json": json.dumps([bedrock])}, folder="wrapped"))

    assert plain.hashes == wrapped.hashes


def test_loading_runs_no_code_of_the_domain_and_opens_no_connection(
    make_domain: MakeDomain,
) -> None:
    boom = "import pathlib; pathlib.Path(__file__).with_name('ran').touch()\n"
    folder = make_domain({"tools.py": boom, "policy.py": boom, "__init__.py": boom})
    code = (
        "import socket, sys, pathlib\n"
        "def refuse(*a, **k): raise SystemExit('a connection was opened')\n"
        "socket.socket.connect = refuse\n"
        "from pytest_sopbench._loading.load import load_domain\n"
        "list(load_domain(pathlib.Path(sys.argv[1])).tasks)\n"
    )

    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)

    assert not (folder / "ran").exists()


def test_a_distractor_is_one_of_the_tools(make_domain: MakeDomain) -> None:
    load_domain(make_domain(distractors=["weigh_parcel"]))

    with pytest.raises(LoadingError, match="no tool spec has the name 'weigh_parcels'") as caught:
        load_domain(make_domain(folder="slip", distractors=["weigh_parcels"]))
    assert "did you mean 'weigh_parcel'?" == caught.value.hint


def test_a_skill_is_a_procedure_with_its_front_matter_and_its_steps(
    make_domain: MakeDomain,
) -> None:
    skill = """---
name: parcels
description: Sends parcels.
---

### Step 1: Weigh
Use the scale.

### Step 2: Send
Choose the route.
"""
    domain = load_domain(make_domain({"sop.txt": None, "SKILL.md": skill}))

    assert skill == domain.sop
    assert ["Weigh", "Send"] == [step.title for step in domain.procedure.steps]
