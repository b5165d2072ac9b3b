"""Short labels of agents: unique among those of a session, whatever users call them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.model.agent_labels import labels_of, named_agents, of_parameter

_PARTS = st.text("ab.1é ", min_size=1, max_size=3)
_AGENTS = st.sets(
    st.one_of(
        _PARTS,
        st.builds("{}:{}".format, _PARTS, _PARTS),
        st.builds("{}:{}/{}".format, _PARTS, _PARTS, _PARTS),
        _PARTS.map(of_parameter),
    ),
    max_size=6,
)


@pytest.mark.parametrize(
    ("agents", "labels"),
    [
        pytest.param(["function-calling:openai/gpt-5-mini"], ["gpt-5-mini"], id="a-model"),
        pytest.param(["stepwise:bedrock/amazon.nova-pro-v1:0"], ["amazon.nova-pro-v1:0"], id="0"),
        pytest.param(["react:openai/meta/llama-3"], ["llama-3"], id="a-path-of-a-model"),
        pytest.param(["pkg.desk:careful", "pkg.desk:bold"], ["careful", "bold"], id="functions"),
        pytest.param(["reference-policy"], ["reference-policy"], id="a-registered-name"),
        pytest.param(["mine", "pkg:mine"], ["mine", "pkg:mine"], id="a-name-goes-first"),
        pytest.param(["sop_agent[small]"], ["small"], id="a-parameter"),
        pytest.param(
            ["react:openai/m", "function-calling:openai/m"],
            ["react:m", "function-calling:m"],
            id="two-ways-of-prompting",
        ),
        pytest.param(
            ["react:openai/m", "react:openai-responses/m"],
            ["openai/m", "openai-responses/m"],
            id="two-interfaces",
        ),
        pytest.param(["a.x:agent", "b.x:agent"], ["a.x:agent", "b.x:agent"], id="two-packages"),
        pytest.param(["x:agent", "a.x:agent"], ["x:agent", "a.x:agent"], id="one-in-another"),
    ],
)
def test_a_label_is_the_shortest_that_tells_an_agent_from_the_others(
    agents: list[str], labels: list[str]
) -> None:
    assert labels == [*labels_of(agents).values()]


@given(_AGENTS)
def test_no_two_agents_have_one_label(agents: set[str]) -> None:
    labels = labels_of(agents)

    assert labels.keys() == agents
    assert len({*labels.values()}) == len(agents)


@given(_AGENTS)
def test_an_agent_is_found_by_its_name_and_by_its_label(agents: set[str]) -> None:
    for agent, label in labels_of(agents).items():
        assert (agent,) == named_agents(agent, agents)
        assert label in agents or (agent,) == named_agents(label, agents)


def test_no_agent_is_found_by_a_part_of_its_label() -> None:
    assert () == named_agents("gpt-5", ["react:openai/gpt-5-mini"])
