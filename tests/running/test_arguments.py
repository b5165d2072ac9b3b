"""What is found wrong with the arguments of a call, and when the agent is to blame."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.model.trace import FindingKind
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.errors import ToolArgumentError, ToolError, ToolSpecError


def findings(bench: Any, name: str = "get_score", /, **arguments: Any) -> list[tuple[str, str]]:
    toolbox = bench.toolbox(bench.lookup(result="ok"))
    toolbox.tools.execute_tool(name, arguments)
    return [(one.kind.value, one.parameter) for one in toolbox.calls[0].findings]


def test_a_good_call_has_no_finding(bench: Any) -> None:
    assert [] == findings(bench, parcel_id="PX1", depth=1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param({}, [("missing_parameter", "parcel_id")], id="missing"),
        pytest.param(
            {"parcel_id": "PX1", "colour": "red"}, [("unknown_parameter", "colour")], id="unknown"
        ),
        pytest.param({"parcel_id": "17"}, [("invalid_value", "parcel_id")], id="pattern"),
        pytest.param(
            {"parcel_id": "PX1", "depth": "deep"}, [("invalid_value", "depth")], id="type"
        ),
        pytest.param(
            {"colour": "red", "depth": 0},
            [
                ("missing_parameter", "parcel_id"),
                ("unknown_parameter", "colour"),
                ("invalid_value", "depth"),
            ],
            id="all-at-once",
        ),
    ],
)
def test_each_departure_is_found(
    bench: Any, arguments: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert expected == findings(bench, **arguments)


def test_a_parameter_that_the_spec_does_not_name_is_unknown_without_being_forbidden(
    bench: Any,
) -> None:
    assert [("unknown_parameter", "cc")] == findings(bench, "send_letter", to="A", cc="B")


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"additionalProperties": True}, id="any"),
        pytest.param({"additionalProperties": {"type": "string"}}, id="of-a-type"),
        pytest.param({"patternProperties": {"^x": {}}}, id="by-pattern"),
    ],
)
def test_a_spec_may_invite_further_parameters(bench: Any, more: dict[str, Any]) -> None:
    spec = ToolSpec(name="t", description="", parameters={"type": "object", **more})
    domain = bench.domain(tool_specs=(spec,), lookups={"t": bench.domain().lookups["send_letter"]})
    toolbox = bench.toolbox(domain)

    toolbox.tools.call("t", xtra="1")

    assert () == toolbox.calls[0].findings


def test_a_value_copied_from_the_inputs_is_not_the_agents_fault(bench: Any) -> None:
    task = bench.task(inputs={"parcel_id": "17"})
    toolbox = bench.toolbox(task=task)

    toolbox.tools.call("get_score", parcel_id="17")

    (call,) = toolbox.calls
    assert FindingKind.INVALID_VALUE is call.findings[0].kind
    assert call.findings[0].copied
    assert not call.bad


def test_a_value_copied_from_an_earlier_result_is_not_the_agents_fault(bench: Any) -> None:
    domain = bench.lookup(result={"found": [{"next": "broken id"}]})
    toolbox = bench.toolbox(domain)

    toolbox.tools.call("get_score", parcel_id="PX1")
    toolbox.tools.call("get_score", parcel_id="broken id")

    assert toolbox.calls[1].findings[0].copied


def test_a_value_that_stands_nowhere_is_the_agents_own(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(result={"found": [["PX1"], {}]}))

    toolbox.tools.call("get_score", parcel_id="PX1")
    toolbox.tools.call("get_score", parcel_id="broken id")

    assert toolbox.calls[1].bad


def test_a_value_that_a_later_result_holds_is_not_copied(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(result="broken id"))

    toolbox.tools.call("get_score", parcel_id="broken id")

    assert toolbox.calls[0].bad


def test_what_only_a_failed_call_was_given_is_not_copied(bench: Any) -> None:
    toolbox = bench.toolbox()

    for _ in range(2):
        with pytest.raises(ToolError):
            toolbox.tools.call("get_score", parcel_id="made up")

    assert toolbox.calls[1].bad


def test_the_place_of_a_bad_value_inside_a_parameter_is_told(bench: Any) -> None:
    spec = ToolSpec(
        name="send_letter",
        description="",
        parameters={
            "type": "object",
            "properties": {"to": {"type": "array", "items": {"type": "string"}}},
            "minProperties": 1,
        },
    )
    toolbox = bench.toolbox(bench.domain(tool_specs=(spec,)))

    toolbox.tools.call("send_letter", to=["a", 1])
    toolbox.tools.call("send_letter", to=list(range(50)))
    toolbox.tools.call("send_letter")

    nested, many, whole = (call.findings for call in toolbox.calls)
    assert "parameter 'to'[1]: 1 is not of type" in nested[0].message
    assert 10 == len(many)
    assert [""] == [one.parameter for one in whole]


def test_bad_arguments_are_rejected_only_where_the_domain_asks(bench: Any) -> None:
    domain = bench.lookup(result="ok")
    strict = bench.toolbox(bench.domain(lookups=domain.lookups, reject_bad_arguments=True))
    lenient = bench.toolbox(domain)

    with pytest.raises(ToolArgumentError, match="'parcel_id' is missing; parameter 'x' is unknown"):
        strict.tools.call("get_score", x=1)

    assert "ok" == lenient.tools.call("get_score", x=1)
    assert strict.calls[0].findings == lenient.calls[0].findings


def test_arguments_that_are_no_object_are_always_refused(bench: Any) -> None:
    toolbox = bench.toolbox()

    result = toolbox.tools.execute_tool("get_score", '{"parcel_id": "PX1"}')

    assert "arguments must be an object" in str(result["error"])
    assert toolbox.calls[0].bad


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        pytest.param({"type": "float"}, "float", id="no-such-type"),
        pytest.param({"properties": {"a": {"pattern": "("}}}, "regex", id="broken-pattern"),
        pytest.param({"$ref": "http://127.0.0.1:9/x"}, "never fetched", id="remote-ref"),
    ],
)
def test_an_unusable_schema_is_a_fault_of_the_set_up(
    bench: Any, parameters: dict[str, Any], said: str
) -> None:
    spec = ToolSpec(name="send_letter", description="", parameters=parameters)

    with pytest.raises(ToolSpecError, match=f"'send_letter'.*{said}"):
        ToolboxFactory(bench.domain(tool_specs=(spec,)))
