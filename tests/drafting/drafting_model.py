"""A model on loopback that drafts a small domain, and errs where a test wants it to.

What it writes is written here: one procedure about late parcels, and two readings of it.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

WITH_MODEL = ("--from", "brief.md", "--model", "openai/gpt-x")

BRIEF = """# Refunds for late parcels

The customer desk decides what a customer gets if a parcel came late.
- The order is looked up. If there is none, the case goes to a person.
- Up to two days are no delay.
- Members get their money back from day 3 on.
- Others get a voucher up to 80 euros, and their money back above that.
- From 15 days on a claim is opened with the carrier before the refund, for everybody.
"""

OUTLINE = {
    "title": "Refunds for late parcels",
    "scope": "Parcels that came late.",
    "out_of_scope": ["damage"],
    "clauses": [{"number": "2.1", "says": "Look the order up."}],
    "outputs": [{"name": "decision", "values": ["refund", "voucher", "nothing", "person"]}],
    "tools": [{"name": "get_order", "purpose": "the order"}],
    "distractors": [],
}

SOP = """# Refunds for late parcels

## 1 Scope

1.1 This procedure decides what a customer gets if a parcel came late.

1.2 The answer has one field, `decision`: `refund`, `voucher`, `nothing` or `person`.

## 2 The order

2.1 Look the order up with `get_order`, by the order number of the case.

2.2 If there is no such order, the decision is `person`.

## 3 The delay

3.1 If the parcel is 2 days late or less, the decision is `nothing`.

3.2 If it is 15 days late or more, open a claim with `open_claim`; the decision is `refund`.

3.3 From 3 to 14 days, a member gets `refund`.

3.4 From 3 to 14 days, a customer who is no member gets `voucher` for a price of up to 80.00 euros,
which includes 80.00, and `refund` above it.
"""

TOOLS: dict[str, Any] = {
    "outputs": [
        {
            "name": "decision",
            "type": "enum",
            "values": ["refund", "voucher", "nothing", "person"],
        }
    ],
    "columns": [
        {"name": "order_id", "type": "id", "prefix": "O-", "about": "number of the order"},
        {"name": "member", "type": "boolean", "about": "whether the customer is a member"},
        {"name": "price", "type": "number", "low": 5, "high": 300, "step": 0.01},
        {"name": "days_late", "type": "number", "low": 0, "high": 40, "step": 1},
        {"name": "carrier", "type": "choice", "values": ["Nordpost", "Kurier Nine", "Velo"]},
    ],
    "inputs": ["order_id", "member"],
    "tools": [
        {
            "name": "get_order",
            "description": "Price, carrier and days of delay of an order.",
            "key": ["order_id"],
            "returns": ["price", "days_late", "carrier"],
            "may_be_missing": True,
        },
        {
            "name": "open_claim",
            "description": "Opens a claim with the carrier of an order.",
            "key": ["order_id"],
            "writes": True,
        },
    ],
    "distractors": [],
}

POLICY = '''"""Refunds for late parcels."""

from pytest_sopbench import ToolError


def decide(inputs, call):
    try:
        order = call("get_order", order_id=inputs["order_id"])
    except ToolError:
        return {"decision": "person"}  # clause 2.2
    if order["days_late"] <= 2:
        return {"decision": "nothing"}  # clause 3.1
    if order["days_late"] >= 15:
        call("open_claim", order_id=inputs["order_id"])
        return {"decision": "refund"}  # clause 3.2
    if inputs["member"]:
        return {"decision": "refund"}  # clause 3.3
    if order["price"] <= 80:
        return {"decision": "voucher"}  # clause 3.4
    return {"decision": "refund"}  # clause 3.4
'''

OTHER_POLICY = POLICY.replace("Refunds for", "Decides on").replace(
    'order["days_late"] <= 2', 'not order["days_late"] > 2'
)
EXCLUDED = OTHER_POLICY.replace('order["price"] <= 80', 'order["price"] < 80')
"""A policy that is wrong in clause 3.4: 80.00 itself is left out."""


def decided(case: dict[str, Any], order: dict[str, Any] | None) -> str:
    """What a careful reader of the procedure decides."""
    if order is None:
        return "person"
    if order["days_late"] <= 2:
        return "nothing"
    if order["days_late"] >= 15 or case["member"]:
        return "refund"
    return "voucher" if order["price"] <= 80 else "refund"


def claimed(case: dict[str, Any], order: dict[str, Any] | None) -> str:
    """The order for which a careful reader opens a claim; none where there is nothing to claim."""
    return str(case["order_id"]) if order is not None and order["days_late"] >= 15 else ""


@dataclass
class Writer:
    """What the model writes at each stage; a test puts errors in place of it."""

    outline: Any = field(default_factory=lambda: json.dumps(OUTLINE))
    sop: Any = SOP
    tools: Any = field(default_factory=lambda: json.dumps(TOOLS))
    policy_a: Any = POLICY
    policy_b: Any = OTHER_POLICY
    solves: Callable[[dict[str, Any], dict[str, Any] | None], str] = decided
    claims: Callable[[dict[str, Any], dict[str, Any] | None], str] = claimed

    def said(self, stage: str, times: int) -> dict[str, Any]:
        """Return the choice of a reply; a list is one reply after the other."""
        text = getattr(self, stage)
        if isinstance(text, list):
            text = text[min(times, len(text) - 1)]
        if isinstance(text, dict):
            return text
        if stage.startswith("policy"):
            text = f"```python\n{text}```"
        return {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


class DraftingModel(ThreadingHTTPServer):
    """The server; `asked` counts the requests of each stage, `bodies` are all of them."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.writer = Writer()
        self.asked: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.most_solved = 10_000
        self.most = 10_000

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def choice(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return what is said to a request; nothing once the server has had enough."""
        stage = stage_of(body)
        with self.lock:
            times = self.asked[stage]
            is_solved = stage == "solver" and times >= self.most_solved
            if is_solved or len(self.bodies) >= self.most:
                return None
            self.asked[stage] += 1
            self.bodies.append(body)
        if stage != "solver":
            return self.writer.said(stage, times)
        return solved(body, self.writer)


def stage_of(body: dict[str, Any]) -> str:
    """Tell what is asked, by how the prompts begin."""
    system, user = (body["messages"][at]["content"] for at in (0, 1))
    begins = {
        "You plan": "outline",
        "You write": "sop",
        "You describe": "tools",
        "You turn": "policy_a" if '"a"\n' in user else "policy_b",
    }
    return next((stage for words, stage in begins.items() if system.startswith(words)), "solver")


def solved(body: dict[str, Any], writer: Writer) -> dict[str, Any]:
    """Look the order up first, open a claim where one is due, and then answer."""
    case = case_in(body)
    results = [one for one in body["messages"] if one["role"] == "tool"]
    if not results:
        return calling("get_order", case["order_id"])
    told = json.loads(results[0]["content"])
    order = told.get("result", told) if "error" not in told else None
    claim = writer.claims(case, order)
    if claim and len(results) == 1:
        return calling("open_claim", claim)
    text = json.dumps({"decision": writer.solves(case, order)})
    return {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


def calling(tool: str, order_id: str) -> dict[str, Any]:
    """The choice of a reply that calls a tool about an order."""
    function = {"name": tool, "arguments": json.dumps({"order_id": order_id})}
    call = {"id": f"call_{tool}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"message": message, "finish_reason": "tool_calls"}


def case_in(body: dict[str, Any]) -> dict[str, Any]:
    """Find the inputs of a case in what the solver is told."""
    decoder = json.JSONDecoder()
    told = "\n".join(one["content"] for one in body["messages"][:2])
    at = told.rindex('"case_id"')
    found, _ = decoder.raw_decode(told[told.rindex("{", 0, at) :])
    return dict(found)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: DraftingModel

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        choice = self.server.choice(body)
        if choice is None:
            self._send(400, {"error": {"message": "no more today", "type": "invalid"}})
            return
        whole = {
            "id": "one",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, **choice}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
        self._send(200, whole)

    def _send(self, status: int, told: object) -> None:
        data = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing of it."""
