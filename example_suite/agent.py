"""The agent of the billing desk. It has rules in place of a model, so the suite runs anywhere."""

from __future__ import annotations

from typing import Any

from pytest_sopbench.errors import ToolError


class MeterDesk:
    def __init__(self, *, daily_limit: int = 60, estimate_per_day: int = 10) -> None:
        self.daily_limit = daily_limit
        self.estimate_per_day = estimate_per_day

    def run(self, inputs: dict[str, Any], tools: Any) -> dict[str, Any]:
        account = inputs["account_id"]
        try:
            last = tools.call("get_last_reading", account_id=account)
        except ToolError:
            return {"decision": "accept", "billed_kwh": 0}

        usage = inputs["reading_kwh"] - last["last_kwh"]
        if 0 <= usage <= self.daily_limit * last["days"]:
            return {"decision": "accept", "billed_kwh": usage}
        if usage > 0 and self._high_usage_is_expected(account, tools):
            return {"decision": "accept", "billed_kwh": usage}
        if usage > 0 and inputs["read_by"] == "customer":
            return {"decision": "estimate", "billed_kwh": self.estimate_per_day * last["days"]}
        tools.call("order_visit", account_id=account)
        return {"decision": "visit", "billed_kwh": 0}

    def _high_usage_is_expected(self, account: str, tools: Any) -> bool:
        try:
            notes = tools.call("get_property_notes", account_id=account)
        except ToolError:
            return False
        return bool(notes["high_usage_expected"])
