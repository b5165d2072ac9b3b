"""Write `tasks.jsonl`, `expected_calls.jsonl` and `readings.json`; `--check` only compares.

`mails/*.toml` has the mails, each written whole, by the intent that leads in them. Beside each lies
what a careful reader takes from it (`says`, word for word where the mail has a word for it) and
what the registers know: `hits`, `band`, `stock`, `ledger`. Ages are days before the mail was
received. What nothing is said of is drawn.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from bundled_domains.generator import Dice, Generator, bundled

FOLDER = bundled("email_intent")
MAILS = Path(__file__).parent / "mails"
SEED = 40
OLD = 30  # clause 7.6
FIRST_DAY = date(2026, 2, 2)
ENTRIES = (
    "suspend",
    "apply",
    "decline",
    "ask_seller",
    "open_case",
    "explain",
    "hand_over",
    "close",
)
VARIANTS = ("plain", "blue", "small", "walnut", "striped")

Mail: TypeAlias = dict[str, Any]


def mails() -> Iterator[Mail]:
    """Every mail as it was written, the files by name."""
    for path in sorted(MAILS.glob("*.toml")):
        yield from tomllib.loads(path.read_text(encoding="utf-8"))["mail"]


class Writer:
    """Makes rows of mails."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._numbers = {
            digits: iter(dice.shuffled(range(10 ** (digits - 1), 10 ** (digits - 1) + 4000)))
            for digits in (4, 7)
        }
        self._mail_numbers = iter(dice.shuffled(range(31_000, 34_000)))

    def row(self, mail: Mail) -> dict[str, Any]:
        received = mail.get("received") or FIRST_DAY + timedelta(days=self._dice.below(120))
        listings = [self._listing(hit, received) for hit in self._hits(mail)]
        return {
            "mail_id": f"SP-{next(self._mail_numbers)}",
            "seller_id": f"WM-{next(self._numbers[4])}",
            "received_on": received.isoformat(),
            "sender_check": "unmatched" if mail.get("unmatched") else "matched",
            "subject": mail["subject"],
            "text": mail["text"].strip(),
            "listings": listings,
            "bands": [self._band(mail.get("band", {}), one, received) for one in listings],
            "stocks": [self._stock(mail.get("stock", {}), one, received) for one in listings],
            "ledger": [
                {"entry": entry, "outcome": mail.get("ledger", {}).get(entry, "posted")}
                for entry in ENTRIES
            ],
            "units_sold": [self._dice.between(0, 90) for _ in range(6)],
            "tags": ",".join(sorted({*mail["tags"], *_tags(mail)})),
        }

    def _hits(self, mail: Mail) -> list[Mail]:
        """What is said of them, with the first code if none is said; else one for each code."""
        codes = list(dict.fromkeys(house(said["code"]) for said in mail["says"] if "code" in said))
        if "hits" not in mail:
            return [{"code": code} for code in codes]
        return [{"code": codes[0]} | hit for hit in mail["hits"]]

    def _listing(self, hit: Mail, received: date) -> dict[str, Any]:
        amount, currency = hit.get("price", "").split() or (
            f"{self._dice.between(6, 80)}.50",
            self._dice.pick(("EUR", "GBP", "SEK", "PLN")),
        )
        age = hit.get("opened", self._dice.between(20, 400))
        return {
            "listing_id": f"L{next(self._numbers[7])}",
            "product_code": hit["code"],
            "variant": hit.get("variant") or self._dice.pick(VARIANTS),
            "status": hit.get("status", "live"),
            "price_minor": _minor(amount),
            "currency": currency,
            "opened_on": _ago(received, age),
        }

    def _band(self, band: Mail, listing: Mail, received: date) -> dict[str, Any]:
        now = listing["price_minor"]
        until = band.get("promotion")
        return {
            "listing_id": listing["listing_id"],
            "lowest_minor": _minor(band["lowest"]) if "lowest" in band else now * 6 // 10,
            "highest_minor": _minor(band["highest"]) if "highest" in band else now * 14 // 10,
            "band_currency": band.get("currency", listing["currency"]),
            "worked_out_on": _ago(received, band.get("age", self._dice.between(1, 25))),
            "promotion_until": None if until is None else _ago(received, -until),
        }

    def _stock(self, stock: Mail, listing: Mail, received: date) -> dict[str, Any]:
        return {
            "listing_id": listing["listing_id"],
            "on_hand": stock.get("on_hand", self._dice.between(3, 60)),
            "reserved": stock.get("reserved", 0),
            "pieces_per_unit": stock.get("pieces", self._dice.pick((1, 1, 4, 6))),
            "kept_by": stock.get("kept_by", "seller"),
            "counted_on": _ago(received, stock.get("counted", self._dice.between(1, 60))),
        }


def house(code: str) -> str:
    """A code as the house writes it; what is none stays as it is."""
    letters = code.upper().replace(" ", "").replace("-", "")
    return f"{letters[:2]}-{letters[2:]}"


def _minor(amount: str) -> int:
    whole, _, rest = amount.partition(".")
    return int(whole) * 100 + int(rest or 0)


def _ago(received: date, days: int) -> str:
    return (received - timedelta(days=days)).isoformat()


def _tags(mail: Mail) -> Iterator[str]:
    """What can be told from the facts; the rest stands with the mail."""
    says, hits = mail["says"], mail.get("hits", [])
    band, stock = mail.get("band", {}), mail.get("stock", {})
    ways = {said["how"] for said in says}
    stated = {said["intent"] for said in says if said["how"] in {"stated", "pointed_at"}}
    yield from (way.replace("_", "-") for way in ways - {"stated"})
    seen = {
        "two-intents": len(stated) > 1,
        "unmatched": mail.get("unmatched"),
        "locked": mail.get("ledger"),
        "several-listings": len(hits) > 1,
        "blocked": any(hit.get("status") == "blocked" for hit in hits),
        "old-band": band.get("age", 0) > OLD,
        "band-currency": "currency" in band,
        "promotion": "promotion" in band,
        "per-cent": any("percent" in said for said in says),
        "pieces": any("pieces" in said for said in says),
        "came-or-went": any("change" in said for said in says),
        "warehouse": stock.get("kept_by") == "warehouse",
        "later-day": any("day" in said for said in says),
    }
    yield from (tag for tag, so in seen.items() if so)


def written() -> tuple[Sequence[dict[str, Any]], bytes]:
    """The rows in an order that says nothing, and the readings by the number of the mail."""
    dice = Dice(SEED)
    writer = Writer(dice)
    made = [(writer.row(mail), mail) for mail in dice.shuffled(mails())]
    readings = {row["mail_id"]: mail["says"] for row, mail in made}
    return [row for row, _ in made], (json.dumps(readings, indent=1) + "\n").encode()


def main(arguments: Sequence[str]) -> int | str:
    """Write the readings first, since the policy decides by them."""
    rows, readings = written()
    path = FOLDER / "readings.json"
    if not arguments:
        path.write_bytes(readings)
    elif list(arguments) == ["--check"] and not (path.is_file() and path.read_bytes() == readings):
        return "readings.json differs from what its generator writes; run it without --check"
    return Generator(folder=FOLDER, rows=lambda: rows, data="tasks.jsonl").main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
