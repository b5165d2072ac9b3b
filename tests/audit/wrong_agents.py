"""Agents that are wrong, written by hand from the procedures: how agents err, over three domains.

Each is the policy of a domain with a text of it replaced, or with calls made otherwise. `kind` and
`where` say which mutants of `sopbench audit --mutants` are errors of the same kind: a change of
that kind in that function of the policy, or such an error with that tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Call = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAgent:
    """One of them; `old` and `new` are texts of the policy, `calls` wraps what it calls."""

    name: str
    domain: str
    kind: str
    where: str
    old: str = ""
    new: str = ""
    calls: Callable[[Call, Mapping[str, Any]], Call] | None = None


def _without(tool: str, result: Any) -> Callable[[Call, Mapping[str, Any]], Call]:
    """Leave a call out, and go on as if it had returned this."""

    def wrap(call: Call, _: Mapping[str, Any]) -> Call:
        return lambda name, **given: result if name == tool else call(name, **given)

    return wrap


def _twice(tool: str) -> Callable[[Call, Mapping[str, Any]], Call]:
    def wrap(call: Call, _: Mapping[str, Any]) -> Call:
        def made(name: str, **given: Any) -> Any:
            if name == tool:
                call(name, **given)
            return call(name, **given)

        return made

    return wrap


def _with(tool: str, **other: Any) -> Callable[[Call, Mapping[str, Any]], Call]:
    """Give a tool other arguments."""

    def wrap(call: Call, _: Mapping[str, Any]) -> Call:
        return lambda name, **given: call(name, **(given | other if name == tool else given))

    return wrap


def _before(tool: str, first: str, **given_first: str) -> Callable[[Call, Mapping[str, Any]], Call]:
    """Call a tool before another one that has to come first, and throw its result away."""

    def wrap(call: Call, inputs: Mapping[str, Any]) -> Call:
        def made(name: str, **given: Any) -> Any:
            if name == first:
                known = {key: inputs.get(column, column) for key, column in given_first.items()}
                call(tool, **known)
            return call(name, **given)

        return made

    return wrap


def _goods(name: str, kind: str, where: str, **how: Any) -> WrongAgent:
    return WrongAgent(name=name, domain="dangerous_goods", kind=kind, where=where, **how)


def _service(name: str, kind: str, where: str, **how: Any) -> WrongAgent:
    return WrongAgent(name=name, domain="customer_service", kind=kind, where=where, **how)


def _orders(name: str, kind: str, where: str, **how: Any) -> WrongAgent:
    return WrongAgent(name=name, domain="order_fulfillment", kind=kind, where=where, **how)


WRONG_AGENTS = (
    _goods(
        "answers C where a total says D, by one point",
        "constant",
        "CLASSES",
        old='(16, "D")',
        new='(17, "D")',
    ),
    _goods(
        "puts the lowest total of class B at nine",
        "constant",
        "CLASSES",
        old='(8, "B")',
        new='(9, "B")',
    ),
    _goods(
        "leaves out the record of the class",
        "left-out",
        "record_class",
        calls=_without("record_class", {}),
    ),
    _goods("records the class twice", "repeated", "record_class", calls=_twice("record_class")),
    _goods(
        "records the class of another product",
        "value",
        "record_class",
        calls=_with("record_class", product_id="P_00000"),
    ),
    _goods(
        "invents a remark for the record",
        "invented",
        "record_class",
        calls=_with("record_class", remark="as usual"),
    ),
    _goods(
        "records before it has any score",
        "swapped",
        "calculate_sds_label_score",
        calls=_before(
            "record_class",
            "calculate_sds_label_score",
            product_id="product_id",
            hazard_class="B",
            total_score="9",
        ),
    ),
    _goods(
        "leaves out the disposal score and takes it for a one",
        "left-out",
        "calculate_disposal_score",
        calls=_without("calculate_disposal_score", {"disposal_score": 1}),
    ),
    _goods(
        "takes a score that failed for a one",
        "error-ignored",
        "_score",
        old="        return None\n    return int",
        new="        return 1\n    return int",
    ),
    _goods(
        "replaces a missing score by the lowest",
        "operand",
        "total",
        old="missing * max(valid)",
        new="missing * min(valid)",
    ),
    _goods(
        "lowers the class of small quantities although a score is missing",
        "operand",
        "decide",
        old="elif not missing and inputs",
        new="elif inputs",
    ),
    _goods(
        "takes exactly one kilogram for no small quantity",
        "comparison",
        "decide",
        old='inputs["net_quantity_kg"] <= SMALL',
        new='inputs["net_quantity_kg"] < SMALL',
    ),
    _service(
        "lets a caller with five failed attempts through",
        "comparison",
        "_recognised",
        old=">= TOO_MANY_ATTEMPTS",
        new="> TOO_MANY_ATTEMPTS",
    ),
    _service(
        "never reads the bill",
        "left-out",
        "get_billing",
        calls=_without("get_billing", {"overdue_pence": 0}),
    ),
    _service(
        "compares numbers as they are written",
        "digits",
        "_digits",
        old='re.sub(r"^(\\+44|0044)", "0", re.sub(r"[ ()-]", "", number))',
        new="number",
    ),
    _service(
        "gives an ended outage one hour of grace only",
        "constant",
        "GRACE",
        old="minutes=120",
        new="minutes=60",
    ),
    _service(
        "gives planned works the grace of a fault",
        "branch",
        "_fits",
        old='if outage["kind"] == "planned":',
        new="if False:",
    ),
    _service(
        "looks at the outages of the own area alone",
        "comprehension",
        "areas",
        old='(account["area_code"], account["border_area"])',
        new='(account["area_code"],)',
    ),
    _service(
        "takes a hold that ends today for ended",
        "comparison",
        "_suspended",
        old='date.fromisoformat(account["hold_until"]) >= day',
        new='date.fromisoformat(account["hold_until"]) > day',
    ),
    _service(
        "puts down a hold although there is a debt limit of 2499",
        "constant",
        "DEBT_PENCE, DEBT_DAYS",
        old="= 2500, 14",
        new="= 2499, 14",
    ),
    _service("resets a line twice", "repeated", "run_reset", calls=_twice("run_reset")),
    _service(
        "stops before it raises the escalation",
        "stopped",
        "raise_escalation",
        calls=_without("raise_escalation", {"accepted": True, "state": "accepted"}),
    ),
    _service(
        "opens the session with the code of somebody else",
        "value",
        "open_session",
        calls=_with("open_session", security_code="000000"),
    ),
    _service(
        "reads the account with a token of its own making",
        "value",
        "get_account",
        calls=_with("get_account", session_token="ST-000000000000"),  # noqa: S106 - no password
    ),
    _orders(
        "answers without a reservation",
        "left-out",
        "reserve_stock",
        calls=_without("reserve_stock", {"reservation": "made"}),
    ),
    _orders("reserves twice", "repeated", "reserve_stock", calls=_twice("reserve_stock")),
    _orders(
        "reserves for another order",
        "value",
        "reserve_stock",
        calls=_with("reserve_stock", order_id="OF-000000"),
    ),
    _orders(
        "takes a pickup that leaves when the parcel is ready for missed",
        "comparison",
        "open_pickups",
        old="if pickup >= ready",
        new="if pickup > ready",
    ),
    _orders(
        "takes fifty pieces for a large order",
        "comparison",
        "open_pickups",
        old='order["quantity"] > LARGE_PIECES',
        new='order["quantity"] >= LARGE_PIECES',
    ),
    _orders(
        "forgets the ferry",
        "branch",
        "open_pickups",
        old='if order["ship_to_zip"] in ISLAND:\n        ready',
        new="if False:\n        ready",
    ),
    _orders(
        "splits for an island",
        "operand",
        "parcels_of",
        old=' or small or order["ship_to_zip"] in ISLAND',
        new=" or small",
    ),
    _orders(
        "gives medical orders no more days",
        "branch",
        "refused_by_credit",
        old='if order["priority"] == "medical":\n        days',
        new="if False:\n        days",
    ),
    _orders(
        "accepts a customer whose account cannot be read",
        "error-ignored",
        "refused_by_credit",
        old='return "" if prepaid else "HOLD"',
        new='return ""',
    ),
    _orders(
        "looks at the credit of who has paid already",
        "branch",
        "refused_by_credit",
        old="    if prepaid:\n",
        new="    if False:\n",
    ),
)
