"""Cases of parts 3 and 4: where the order goes, and who orders."""

from __future__ import annotations

from collections.abc import Iterator

from bundled_domains.generator import Dice

from .case import Case, Change, Wanted, fixed, is_, matters
from .orders import Order, Row


def customer_cases() -> Iterator[Case]:
    """Part 3 and then part 4."""
    yield from _areas()
    yield from _accounts()


def _areas() -> Iterator[Case]:
    for prefix in ("009", "009", "090", "090"):
        tags = "out-of-area,boundary-area"
        yield Case(tags=tags, rows=1, change=_zip(prefix), wanted=is_("REJECT"))
    yield Case(
        tags="out-of-area,fishers-island",
        rows=3,
        change=fixed(ship_to_zip="06390"),
        wanted=lambda order: order.differs(ship_to_zip="06391"),
    )
    for here, beyond in (("054", "055"), ("055", "054"), ("056", "055"), ("030", "029")):
        yield Case(tags="boundary-zone", rows=2, change=_zip(here), wanted=_not_with(beyond))
    for here, beyond, rows in (("070", "069", 2), ("060", "059", 1), ("059", "060", 1)):
        yield Case(tags="boundary-zone", rows=rows, change=_zip(here), wanted=_not_with(beyond))


def _zip(prefix: str) -> Change:
    return lambda dice, row: row | {"ship_to_zip": f"{prefix}{dice.between(1, 88):02}"}


def _not_with(prefix: str) -> Wanted:
    def wanted(order: Order) -> bool:
        other = prefix + order.row["ship_to_zip"][3:]
        return order.decision in {"FULFIL", "SPLIT"} and order.differs(ship_to_zip=other)

    return wanted


def _accounts() -> Iterator[Case]:
    for payment, priority, rows in (
        ("account", "standard", 1),
        ("account", "medical", 1),
        ("prepaid", "express", 1),
    ):
        change = fixed(standing="blocked", payment=payment, priority=priority)
        yield Case(
            tags="blocked",
            rows=rows,
            change=change,
            wanted=lambda order: order.zone is not None and order.differs(standing="good"),
        )
    nobody = dict.fromkeys(("standing", "open_balance", "credit_limit", "days_overdue"))
    no_account = fixed(**nobody, payment="account")
    yield Case(tags="no-account", rows=2, change=no_account, wanted=is_("HOLD"))
    for decision in ("FULFIL", "SPLIT"):
        yield Case(
            tags="no-account,prepaid",
            rows=1,
            change=fixed(**nobody, payment="prepaid"),
            wanted=is_(decision),
        )
    for medical, standing, days in (
        (False, "good", 30),
        (False, "watch", 10),
        (True, "good", 60),
        (True, "watch", 40),
    ):
        for more in (0, 1):
            yield Case(
                tags="boundary-overdue" + ",medical" * medical,
                rows=1,
                change=_overdue(standing, days + more, medical=medical),
                wanted=(
                    matters("days_overdue", -1, "HOLD")
                    if more
                    else matters("days_overdue", 1, "FULFIL" if medical else "SPLIT")
                ),
            )
    for standing, percent in (("good", 100), ("watch", 80)):
        for more, decision, rows in ((0, "FULFIL", 1), (0, "SPLIT", 1), (1, "HOLD", 2)):
            yield Case(
                tags="boundary-credit",
                rows=rows,
                change=_owing(standing, percent, more),
                wanted=matters("open_balance", -0.01 if more else 0.01, decision),
            )
    yield Case(
        tags="prepaid",
        rows=1,
        change=fixed(payment="prepaid", days_overdue=75),
        wanted=is_("FULFIL"),
    )
    yield Case(
        tags="prepaid",
        rows=1,
        change=lambda _, row: row | {"payment": "prepaid", "open_balance": row["credit_limit"]},
        wanted=is_("SPLIT"),
    )


def _overdue(standing: str, days: int, *, medical: bool) -> Change:
    def change(dice: Dice, row: Row) -> Row:
        priority = "medical" if medical else dice.pick(("standard", "express"))
        account = {"payment": "account", "standing": standing, "days_overdue": days}
        return row | account | {"priority": priority}

    return change


def _owing(standing: str, percent: int, more_cents: int) -> Change:
    def change(_: Dice, row: Row) -> Row:
        limit = row["credit_limit"]
        owed = (percent * limit + more_cents) / 100 - row["order_value"]
        account = {"payment": "account", "standing": standing, "days_overdue": 0}
        return row | account | {"open_balance": round(max(owed, 0.0), 2)}

    return change
