"""The mock tools by hand, without the agent: does the domain say what we think it says?"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench.errors import ToolError


def test_last_reading_is_there_but_for_new_accounts(sop_task: Any, sop_tools: Any) -> None:
    if "new" in sop_task.tags:
        with pytest.raises(ToolError):
            sop_tools.call("get_last_reading", account_id=sop_task.id)
    else:
        last = sop_tools.call("get_last_reading", account_id=sop_task.id)
        assert last["days"] >= 0


def test_no_tool_speaks_of_another_account(sop_tools: Any) -> None:
    with pytest.raises(ToolError):
        sop_tools.call("get_last_reading", account_id="FP-0000")
