"""The stub of the demo knows of a task what the conversation holds, and nothing more."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[2] / "demo" / "stub_model.py"
INPUTS = {
    "product_id": "P_1",
    "un_number": "UN1066",
    "net_quantity_kg": 4.0,
    "sds_label_text": "a",
    "handling_guidelines": "b",
    "transport_requirements": "c",
    "disposal_guidelines": "d",
}


@pytest.fixture(scope="module")
def stub() -> Any:
    spec = importlib.util.spec_from_file_location("demo_stub_model", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def conversation(*results: dict[str, Any]) -> list[dict[str, Any]]:
    asked = {"role": "user", "content": f"The task: {json.dumps(INPUTS)}"}
    return [asked, *({"role": "tool", "content": json.dumps(one)} for one in results)]


def test_it_asks_for_the_calls_of_the_procedure_one_by_one(stub: Any) -> None:
    first = stub.reply(conversation())["tool_calls"][0]["function"]
    second = stub.reply(conversation({"sds_label_score": 1}))["tool_calls"][0]["function"]

    assert first["name"] != second["name"]
    assert "P_1" == json.loads(first["arguments"])["product_id"]


def test_it_decides_by_the_results_that_it_was_given(stub: Any) -> None:
    names = ("sds_label_score", "handling_score", "transport_score", "disposal_score")

    answers = {
        stub.reply(conversation(*({name: score} for name in names), {"status": "recorded"}))[
            "content"
        ]
        for score in (1, 2, 4)
    }

    assert 3 == len(answers)
    assert all(one.startswith("<final_output>") for one in answers)


def test_without_the_inputs_it_is_lost(stub: Any) -> None:
    with pytest.raises((KeyError, ValueError)):
        stub.reply([{"role": "user", "content": "The task: {}"}])
