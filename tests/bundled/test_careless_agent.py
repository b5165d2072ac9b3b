"""The imperfect demo agent fails in each way that it is there to show, and always alike."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

AGENT = Path(__file__).parents[2] / "demo" / "careless_agent.py"


def ending(agent: Any, inputs: dict[str, Any], tools: Any, expected: str) -> str:
    try:
        text = agent(inputs, tools)
    except AttributeError:
        return "error"
    found = re.search("<hazard_class>(.*)</hazard_class>", text)
    if found is None:
        return "no_answer"
    return "correct" if found[1] == expected else "wrong"


def test_careless_agent_shows_each_kind_of_failure(dangerous_goods: Any, tools_of: Any) -> None:
    """These are the counts that the summary of the demo has to print."""
    agent = runpy.run_path(str(AGENT))["agent"]

    endings = Counter(
        ending(
            agent,
            dangerous_goods.inputs(row),
            tools_of(dangerous_goods, row),
            row["hazard_class"],
        )
        for row in dangerous_goods.rows
    )

    assert {"correct": 169, "wrong": 116, "no_answer": 38, "error": 4} == endings
