"""What a model says of data and tools, and what its policy may do: read, or named as wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from drafting_model import POLICY, TOOLS

from pytest_sopbench._core.gates.calibration import unreviewed
from pytest_sopbench._drafting.asking import UnusableError, code_in, document_in, json_in
from pytest_sopbench._drafting.policies import checked_policy
from pytest_sopbench._drafting.shape import read_shape


def changed(place: str, number: int, **more: Any) -> Mapping[str, Any]:
    """Return the tools of the example with one entry changed."""
    entries = [dict(one) for one in TOOLS[place]]
    entries[number].update(more)
    return {**TOOLS, place: entries}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param({}, "KeyError", id="empty"),
        pytest.param({**TOOLS, "inputs": ["price"]}, "'order_id' is to be an input", id="orphan"),
        pytest.param(
            {**TOOLS, "inputs": ["order_id", "member", "price"]}, "or else returned", id="both"
        ),
        pytest.param(changed("columns", 3, low=9, high=9), "'low' has to be below", id="range"),
        pytest.param(changed("columns", 4, values=[]), "it has no values", id="no values"),
        pytest.param(changed("columns", 4, type="colour"), "'colour' is none of", id="type"),
        pytest.param(changed("columns", 4, name="decision"), "stands for two", id="twice"),
        pytest.param(changed("outputs", 0, values=["refund"]), "two values", id="one label"),
        pytest.param(changed("tools", 0, key=[]), "it has no key", id="no key"),
        pytest.param(
            changed("tools", 0, takes=[{"name": "sum", "type": "integer"}]),
            "only a tool that writes",
            id="a look-up that takes more",
        ),
        pytest.param(
            changed("tools", 1, takes=[{"name": "order_id", "type": "integer"}]),
            "'order_id' is no name, or stands twice",
            id="an argument twice",
        ),
        pytest.param(
            changed("tools", 1, takes=[{"name": "reason", "type": "words"}]),
            "'words' is none of",
            id="an argument of no type",
        ),
        pytest.param({**TOOLS, "distractors": ["ping"]}, "'ping' is no tool", id="distractor"),
    ],
)
def test_tools_that_do_not_fit_are_named(data: Mapping[str, Any], told: str) -> None:
    with pytest.raises(UnusableError, match=told):
        read_shape(data)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        pytest.param("x = (", "it is no Python", id="syntax"),
        pytest.param("def decide(inputs): ...", "there is no one function", id="signature"),
        pytest.param(f"import subprocess\n{POLICY}", "'subprocess'", id="import"),
        pytest.param(
            POLICY.replace("import ToolError", "import load_session"), "ToolError", id="from us"
        ),
        pytest.param(f"{POLICY}\nopen('x')\n", "'open'", id="open"),
        pytest.param(f"{POLICY}\n().__class__\n", "'__class__'", id="dunder"),
        pytest.param(POLICY.replace('"get_order"', "name"), "names it as a text", id="by name"),
        pytest.param(POLICY.replace("order_id=", "id="), "takes exactly order_id", id="argument"),
    ],
)
def test_a_policy_that_reaches_too_far_is_named(source: str, told: str) -> None:
    with pytest.raises(UnusableError, match=told):
        checked_policy(source, read_shape(TOOLS))


def test_a_policy_gives_a_tool_all_that_it_takes() -> None:
    shape = read_shape(changed("tools", 1, takes=[{"name": "cents", "type": "integer"}]))

    with pytest.raises(UnusableError, match="takes exactly order_id, cents"):
        checked_policy(POLICY, shape)
    checked_policy(
        POLICY.replace(
            'id=inputs["order_id"])\n        return {"decision": "refund"}  #',
            'id=inputs["order_id"], cents=1)\n        return {"decision": "refund"}  #',
        ),
        shape,
    )


def test_a_domain_whose_tools_only_look_up_has_no_world_to_judge() -> None:
    shape = read_shape({**TOOLS, "tools": TOOLS["tools"][:1]})

    assert () == shape.writers
    assert "judged" not in shape.metadata("refunds", "Refunds", "")


def test_a_reply_is_found_in_its_fence() -> None:
    assert {"a": 1} == json_in('Here it is:\n```json\n{"a": 1}\n```')
    assert "x = 1\n" == code_in("```python\nx = 1\n```")
    assert "# SOP\n" == document_in("```markdown\n# SOP\n```\n")
    with pytest.raises(UnusableError):
        json_in("[1]")


def test_a_draft_leaves_open_the_gates_on_it_and_on_all_domains_together() -> None:
    drafts = {"refunds": "61 labels not reviewed"}

    told = "draft: 61 labels not reviewed"
    assert told == unreviewed("refunds", drafts)
    assert told == unreviewed("", drafts)
    assert "" == unreviewed("parcels", drafts)
