# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: the Post Room Book as a function of a mail and what registers answer.

What a mail says is free text, which no function reads for sure. `readings.json`, which neither
agents nor tools are shown, has what a careful reader takes from each mail, statement by statement:
also those that the book does not count. From there on nothing is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

Call: TypeAlias = Callable[..., Any]
Said: TypeAlias = Mapping[str, Any]

READINGS: dict[str, list[Said]] = json.loads(
    (Path(__file__).parent / "readings.json").read_text(encoding="utf-8")
)
RANKS = (  # clauses 3.1, 3.3 to 3.5
    "safety_stop",
    "end_listing",
    "stock_none",
    "price_change",
    "stock_change",
    "end_later",
    "account_locked",
    "visibility_query",
    "elsewhere",
)
ROOMS = ("PAYMENTS", "ACCOUNTS", "BUYERS", "INTEGRITY")  # clause 10.2
RATES = {  # clause 7.8
    "EUR": Decimal("1.00"),
    "GBP": Decimal("0.80"),
    "SEK": Decimal("11.20"),
    "PLN": Decimal("4.25"),
}
BAND_DAYS, DRIFT_PERCENT = 30, 15  # clause 7.6
COUNT_DAYS = 14  # clauses 8.6, 9.3
SLIP = 10  # clause 8.7
INDEX_DAYS = 2  # clause 9.2


class Line(NamedTuple):
    """One line of the ledger."""

    action: str
    detail: str
    listing: str = "none"


def decide(inputs: Mapping[str, Any], call: Call) -> dict[str, str]:
    """Return intent and action of one mail; `call(tool, **arguments)` raises `ToolError`."""
    today = date.fromisoformat(inputs["received_on"])
    stated = [said for said in READINGS[inputs["mail_id"]] if _own(said) and _meant(said)]
    intent = _leading(stated, today)
    leading = [said for said in stated if said["intent"] == intent]
    actions = [
        _posted(intent, line, inputs, call) for line in _lines(intent, leading, inputs, call)
    ]
    return {"seller_intent": intent, "action": actions[0]}


def _own(said: Said) -> bool:
    how: str = said["how"]
    return how != "quoted"  # clause 2.2


def _meant(said: Said) -> bool:
    return said["how"] not in {"taken_back", "wondered", "waiting", "history"}  # 2.3 to 2.6


def _leading(stated: Sequence[Said], today: date) -> str:
    if not stated:
        return "no_request"  # clause 3.6
    highest = min(stated, key=lambda said: RANKS.index(_row(said, today)))
    return str(highest["intent"])


def _row(said: Said, today: date) -> str:
    if _later(said, today):
        return "end_later"  # clause 3.3
    if said.get("figure") == 0:
        return "stock_none"  # clause 3.4
    if said.get("locked"):
        return "account_locked"  # clause 3.5
    return str(said["intent"])


def _later(said: Said, today: date) -> bool:
    return "day" in said and date.fromisoformat(said["day"]) > today


def _lines(intent: str, said: Sequence[Said], inputs: Mapping[str, Any], call: Call) -> list[Line]:
    if intent == "no_request":
        return [Line("close", "NOTHING")]  # clause 10.3
    if intent == "elsewhere":
        return [Line("hand_over", min((one["room"] for one in said), key=ROOMS.index))]  # 10.2
    if intent == "safety_stop":
        return _suspended(_codes(said), inputs, call)
    return [_line(intent, said, inputs, call)]


def _codes(said: Sequence[Said]) -> list[str]:
    """The codes as the house writes them, each once; what is no code is left out."""
    written = (
        re.fullmatch("([A-Z]{2})[ -]?([0-9]{4})", one.get("code", "").upper()) for one in said
    )
    return list(dict.fromkeys(f"{code[1]}-{code[2]}" for code in written if code))  # clause 4.2


def _suspended(codes: Sequence[str], inputs: Mapping[str, Any], call: Call) -> list[Line]:
    found = [listing for code in codes for listing in _search(code, inputs, call)]
    lines = [Line("suspend", "SAFETY", one["listing_id"]) for one in _not_ended(found)]
    return lines or [Line("open_case", "SAFETY")]  # clause 5.1


def _search(code: str, inputs: Mapping[str, Any], call: Call) -> list[dict[str, Any]]:
    seller = inputs["seller_id"]
    found: list[dict[str, Any]] = call("search_listings", seller_id=seller, product_code=code)
    return found


def _not_ended(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [listing for listing in found if listing["status"] != "ended"]


def _line(intent: str, said: Sequence[Said], inputs: Mapping[str, Any], call: Call) -> Line:
    if inputs["sender_check"] == "unmatched":
        return Line("ask_seller", "SENDER")  # clause 4.1
    codes = _codes(said)
    if len(codes) != 1:
        return Line("ask_seller", "ONE" if codes else "CODE")  # clause 4.3
    found = _search(codes[0], inputs, call)
    left = _not_ended(found)
    if not left:  # clause 4.5
        gone = intent == "visibility_query" and found
        return Line("explain", "ENDED") if gone else Line("ask_seller", "CODE")
    listing = _chosen(left, said[0].get("variant"))
    if listing is None:
        return Line("ask_seller", "VARIANT")  # clause 4.7
    action, detail = _work(
        intent, said[0], listing, date.fromisoformat(inputs["received_on"]), call
    )
    return Line(action, detail, listing["listing_id"])


def _chosen(left: Sequence[dict[str, Any]], variant: str | None) -> dict[str, Any] | None:
    if len(left) == 1:
        return left[0]  # clause 4.6
    if variant:
        fitting = [one for one in left if one["variant"].lower() == variant.lower()]
    else:
        fitting = [one for one in left if one["status"] == "live"]
    return fitting[0] if len(fitting) == 1 else None  # clause 4.7


def _work(
    intent: str, said: Said, listing: dict[str, Any], today: date, call: Call
) -> tuple[str, str]:
    if intent == "visibility_query":
        return _hidden(listing, today, call)
    if listing["status"] == "blocked":
        return "decline", "BLOCKED"  # clause 4.8
    if intent == "end_listing":
        return _end(said, listing, today, call)
    if intent == "price_change":
        return _price(said, listing, today, call)
    return _stock(said, listing, today, call)


def _end(said: Said, listing: dict[str, Any], today: date, call: Call) -> tuple[str, str]:
    if _later(said, today):
        return "decline", "LATER"  # clause 6.1
    stock = call("get_stock", listing_id=listing["listing_id"])
    if stock["reserved"]:
        return "open_case", "ORDERS"  # clause 6.2
    if stock["kept_by"] == "warehouse" and stock["on_hand"] and not said.get("goods"):
        return "ask_seller", "GOODS"  # clause 6.3
    return "apply", "END"


def _price(said: Said, listing: dict[str, Any], today: date, call: Call) -> tuple[str, str]:
    now, currency = listing["price_minor"], listing["currency"]
    price = _new_price(said, now)
    if price is None:
        return "ask_seller", "PRICE"  # clause 7.1
    if said.get("currency", currency) != currency:
        return "ask_seller", "CURRENCY"  # clause 7.2
    if price == now:
        return "close", "SAME"  # clause 7.3
    band = call("get_price_band", listing_id=listing["listing_id"])
    if price > now and _promoted(band, today):
        return "decline", "PROMOTION"  # clause 7.5
    refused = _by_old_band(price, now) if _old(band, today) else _by_band(price, currency, band)
    return refused or ("apply", f"{currency} {price}")  # clause 7.9


def _new_price(said: Said, now: int) -> int | None:
    if "percent" in said:
        reckoned = Decimal(now * (100 + said["percent"])) / 100
        return int(reckoned.to_integral_value(ROUND_HALF_UP))  # clause 7.1
    return int(Decimal(said["price"]) * 100) if "price" in said else None


def _promoted(band: Mapping[str, Any], today: date) -> bool:
    until = band["promotion_until"]
    return until is not None and date.fromisoformat(until) >= today


def _old(band: Mapping[str, Any], today: date) -> bool:
    return (today - date.fromisoformat(band["worked_out_on"])).days > BAND_DAYS


def _by_old_band(price: int, now: int) -> tuple[str, str] | None:
    return ("open_case", "PRICING") if abs(price - now) * 100 > DRIFT_PERCENT * now else None


def _by_band(price: int, currency: str, band: Mapping[str, Any]) -> tuple[str, str] | None:
    turned = price * RATES[band["band_currency"]] / RATES[currency]  # clause 7.7
    if turned < band["lowest_minor"]:
        return "decline", "FLOOR"
    return ("open_case", "PRICING") if turned > band["highest_minor"] else None


def _stock(said: Said, listing: dict[str, Any], today: date, call: Call) -> tuple[str, str]:
    if "figure" not in said:
        return "ask_seller", "NUMBER"  # clause 8.1
    stock = call("get_stock", listing_id=listing["listing_id"])
    figure = _new_figure(said, stock)
    if figure == stock["on_hand"]:
        return "close", "SAME"  # clause 8.5
    if stock["kept_by"] == "warehouse":  # clause 8.6
        return ("open_case", "RECOUNT") if _long_ago(stock, today) else ("decline", "COUNT")
    if figure < stock["reserved"]:
        return "open_case", "ORDERS"  # clause 8.7
    if stock["on_hand"] and figure > SLIP * stock["on_hand"]:
        return "ask_seller", "NUMBER"  # clause 8.7
    return "apply", str(figure)


def _new_figure(said: Said, stock: Mapping[str, Any]) -> int:
    number: int = said["figure"]
    if said.get("pieces"):
        number //= stock["pieces_per_unit"]  # clause 8.3
    on_hand: int = stock["on_hand"]
    return {"came": on_hand + number, "went": on_hand - number}.get(said.get("change", ""), number)


def _long_ago(stock: Mapping[str, Any], today: date) -> bool:
    return (today - date.fromisoformat(stock["counted_on"])).days > COUNT_DAYS


def _hidden(listing: dict[str, Any], today: date, call: Call) -> tuple[str, str]:
    if listing["status"] == "paused":
        return "explain", "PAUSED"  # clause 9.1
    if listing["status"] == "blocked":
        return "open_case", "CATALOGUE"  # clause 9.1
    if (today - date.fromisoformat(listing["opened_on"])).days <= INDEX_DAYS:
        return "explain", "NEW"  # clause 9.2
    stock = call("get_stock", listing_id=listing["listing_id"])
    if stock["on_hand"] > stock["reserved"]:
        return "open_case", "CATALOGUE"  # clause 9.3
    if stock["kept_by"] == "warehouse" and _long_ago(stock, today):
        return "open_case", "RECOUNT"
    return "explain", "SOLD_OUT"


def _posted(intent: str, line: Line, inputs: Mapping[str, Any], call: Call) -> str:
    """The action that a line comes to."""
    entered = {"mail_id": inputs["mail_id"], "intent": intent, "listing_id": line.listing}
    answer = call("post_entry", **entered, entry=line.action, detail=line.detail)
    if answer["outcome"] == "locked":
        call("post_entry", **entered, entry="open_case", detail="LOCKED")
        return "open_case"  # clause 11.3
    return line.action
