# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The stock ledger: what it shows of an article, and what a request to reserve does to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_sopbench.errors import ToolError

SHOWN = ("on_hand", "allocated", "quarantine")


class LedgerManager:
    """The ledger of one run.

    A shelf is an article at a warehouse. `pending` are the packs of other desks that come to be
    allocated before whatever is asked for next: nobody is shown them.
    """

    def __init__(self, row: Mapping[str, Any], world: Mapping[str, dict[Any, Any]]) -> None:
        self._pack_size = row["pack_size"]
        self._stock, self._reservations = world["stock"], world["reservations"]

    def process_tool_call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer `get_stock` or `reserve_stock`."""
        shelves = {
            shelf["warehouse"]: shelf
            for shelf in self._stock.values()
            if shelf["article"] == arguments["article"]
        }
        if not shelves:
            msg = f"the stock ledger does not know article {arguments['article']}"
            raise ToolError(msg)
        if name == "get_stock":
            shown = {place: {of: shelf[of] for of in SHOWN} for place, shelf in shelves.items()}
            return {"pack_size": self._pack_size, "warehouses": shown}
        return {"reservation": self._reserved(shelves, arguments)}

    def _reserved(self, shelves: Mapping[str, Any], request: Mapping[str, Any]) -> str:
        packs = self._packs(request["parcels"])
        enough = all(free(shelves[place]) >= number for place, number in packs.items())
        answer = "confirmed" if enough else "refused"
        for place, number in packs.items():
            shelves[place]["allocated"] += number * enough
        number = len(self._reservations) + 1
        self._reservations[number] = {"request": number, **request, "answer": answer}
        return answer

    def _packs(self, parcels: Sequence[Mapping[str, Any]]) -> dict[str, int]:
        """Whole packs: one that is broken is no longer free."""
        pieces: Counter[str] = Counter()
        for parcel in parcels:
            pieces[parcel["warehouse"]] += parcel["pieces"]
        return {place: -(-number // self._pack_size) for place, number in pieces.items()}


def free(shelf: Mapping[str, int]) -> int:
    """The packs that can still be allocated, the counter's among them."""
    return shelf["on_hand"] - shelf["allocated"] - shelf["quarantine"] - shelf["pending"]
