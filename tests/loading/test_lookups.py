from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.model.task import LookupTool
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import ToolSpecError

MakeDomain = Callable[..., Path]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param(
            {"key": ["parcel_id"], "check": ["label"], "returns": ["weight"], "missing": "null"},
            LookupTool(
                name="weigh_parcel",
                key=("parcel_id",),
                check=("label",),
                returns=("weight",),
                missing="null",
            ),
            id="serves-a-column",
        ),
        pytest.param(
            {"result": {"status": "sent"}},
            LookupTool(name="weigh_parcel", result={"status": "sent"}),
            id="serves-a-constant",
        ),
        pytest.param({"result": None}, LookupTool(name="weigh_parcel"), id="serves-null"),
    ],
)
def test_an_entry_of_tools_becomes_a_lookup_tool(
    make_domain: MakeDomain, entry: dict[str, Any], expected: LookupTool
) -> None:
    domain = load_domain(make_domain(tools={"weigh_parcel": entry}))

    assert {"weigh_parcel": expected} == domain.lookups


@pytest.mark.parametrize(
    ("tools", "problem", "hint"),
    [
        pytest.param(
            {"weigh_parcels": {"returns": ["weight"]}},
            "key 'tools.weigh_parcels': no tool spec has this name",
            "did you mean 'weigh_parcel'?",
            id="no-spec",
        ),
        pytest.param(
            {"weigh_parcel": {}},
            "key 'tools.weigh_parcel': says nothing to serve",
            "add 'returns' (columns) or 'result' (a constant)",
            id="nothing-to-serve",
        ),
        pytest.param(
            {"weigh_parcel": {"returns": ["weight"], "result": 1}},
            "key 'tools.weigh_parcel': has both 'returns' and 'result'",
            "keep one of them",
            id="two-things-to-serve",
        ),
        pytest.param(
            {"weigh_parcel": {"returns": ["route"]}},
            "key 'tools.weigh_parcel.returns': 'route' speaks about the answer, and would hand"
            " the agent the expected answer",
            "take it off",
            id="serves-an-output",
        ),
        pytest.param(
            {"weigh_parcel": {"returns": ["also"]}},
            "key 'tools.weigh_parcel.returns': 'also' speaks about the answer, and would hand"
            " the agent the expected answer",
            "take it off",
            id="serves-acceptable-answers",
        ),
        pytest.param(
            {"weigh_parcel": {"check": ["route"], "returns": ["weight"]}},
            "key 'tools.weigh_parcel.check': 'route' speaks about the answer, and would tell the"
            " agent when its answer is right",
            "take it off",
            id="checks-an-output",
        ),
        pytest.param(
            {"weigh_parcel": {"returns": ["pin"]}},
            "key 'tools.weigh_parcel.returns': 'pin' is a private column",
            "private columns never reach the agent; take it off",
            id="serves-a-private-column",
        ),
        pytest.param(
            {"weigh_parcel": {"returns": ["wieght"]}},
            "key 'tools.weigh_parcel.returns': the data file has no column 'wieght'",
            "did you mean 'weight'?",
            id="serves-nothing-there-is",
        ),
        pytest.param(
            {"weigh_parcel": {"key": ["zzz"], "returns": ["weight"]}},
            "key 'tools.weigh_parcel.key': the data file has no column 'zzz'",
            "it has parcel_id, label, weight, pin",
            id="a-key-that-is-no-column",
        ),
        pytest.param(
            {"weigh_parcel": {"key": ["weight"], "returns": ["weight"]}},
            "key 'tools.weigh_parcel.key': the tool has no parameter 'weight'",
            "its parameters: parcel_id, label",
            id="a-key-that-is-no-parameter",
        ),
    ],
)
def test_an_entry_that_cannot_serve_or_may_not_is_refused(
    make_domain: MakeDomain, tools: dict[str, Any], problem: str, hint: str
) -> None:
    content = "parcel_id,label,weight,route,also,pin\nP1,red,1,north,,9\n"
    keys = {"acceptable_column": "also", "private_columns": ["pin"], "tools": tools}

    with pytest.raises(ToolSpecError) as caught:
        load_domain(make_domain({"data.csv": content}, **keys))

    assert problem == caught.value.problem
    assert hint == caught.value.hint


def test_tools_that_nothing_answers_for_are_warned_of(make_domain: MakeDomain) -> None:
    warnings = load_domain(make_domain(tools=None)).warnings

    assert [
        "nothing answers for weigh_parcel",
        " there is no tools.py, and 'tools' has no entry; calls of them fail",
    ] == warnings[0].split(":")


def test_a_tools_file_answers_for_the_rest_and_is_not_run(make_domain: MakeDomain) -> None:
    folder = make_domain({"tools.py": "raise SystemExit", "policy.py": "raise SystemExit"})

    domain = load_domain(folder)

    assert folder / "tools.py" == domain.tools_file
    assert folder / "policy.py" == domain.policy_file
    assert () == domain.warnings
