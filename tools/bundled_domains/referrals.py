"""What the generators of both referral domains share: drafts, tags, and which drafts are kept.

A draft is made of its number alone. Most of many are much alike, so that a domain keeps those in
which its clauses matter: `python -m bundled_domains.choosing NAME` finds them again after a clause
has changed, and writes their numbers.
"""

from __future__ import annotations

import json
import runpy
import tomllib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from bundled_domains.generator import Decided, Dice, Row, bundled, decided, look_ups

TICKET_NUMBERS = 90_000
STEP = 7_919  # has no divisor in common with the numbers that there are

Draft: TypeAlias = Callable[["Desk", Dice], dict[str, Any]]
Misreadings: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]
"""By tag, what names of the policy would stand for if a clause were misread."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """One edition of the desk: its drafts, and what they are tagged by.

    Attributes:
        tags: what a row is tagged by if what it says is true of the row.
    """

    name: str
    draft: Draft
    misreadings: Misreadings
    tags: Mapping[str, Callable[[Row], bool]]

    @cached_property
    def policy(self) -> dict[str, Any]:
        return runpy.run_path(str(bundled(self.name) / "policy.py"))

    @cached_property
    def tools(self) -> dict[str, Any]:
        metadata = json.loads((bundled(self.name) / "metadata.json").read_text(encoding="utf-8"))
        tools: dict[str, Any] = metadata["tools"]
        return tools

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """What people wrote, whole but for numbers of friends."""
        return tomllib.loads((self.folder / "texts.toml").read_text(encoding="utf-8"))

    @property
    def folder(self) -> Path:
        return Path(__file__).parent / self.name

    @property
    def kept(self) -> Path:
        """The file with the numbers of the drafts that are kept."""
        return self.folder / "kept.json"

    def row(self, number: int) -> dict[str, Any]:
        """The draft of a number, without tags."""
        ticket = 10_000 + number * STEP % TICKET_NUMBERS
        return {"ticket_id": f"RT-{ticket}", **self.draft(self, Dice(number))}

    def outcome(self, row: Row) -> Decided:
        return decided(self.policy["decide"], row, look_ups(self.tools, row))

    def tags_of(self, row: Row) -> set[str]:
        """What decides in a row: whoever misreads it answers otherwise."""
        right = self.outcome(row)
        found = {tag for tag, holds in self.tags.items() if holds(row)}
        for tag, ways in self.misreadings.items():
            if any(self._misread(row, way).answer != right.answer for way in ways):
                found.add(tag)
        return found

    def _misread(self, row: Row, way: Mapping[str, Any]) -> Decided:
        with self.reading(way):
            return self.outcome(row)

    @contextmanager
    def reading(self, way: Mapping[str, Any]) -> Generator[None]:
        """Names of the policy stand for something else in here."""
        names = self.policy["decide"].__globals__
        before = {name: names[name] for name in way}
        names.update(way)
        try:
            yield
        finally:
            names.update(before)

    def rows(self) -> list[dict[str, Any]]:
        """Every row of the domain without its labels, in the order of the file."""
        rows = map(self.row, json.loads(self.kept.read_text(encoding="utf-8")))
        return [row | {"tags": ",".join(sorted(self.tags_of(row)))} for row in rows]


def near(name: str, value: int) -> list[dict[str, int]]:
    """A cut-off that is read as the number above or below it."""
    return [{name: value + 1}, {name: value - 1}]


def constant(value: Any) -> Callable[..., Any]:
    """What a function would be if its clause were not there."""
    return lambda *_: value


# --- what drafts are made of -----------------------------------------------------------------


def ago(day: str, days: int) -> str:
    """The day so many days before."""
    return (date.fromisoformat(day) - timedelta(days=days)).isoformat()


def one_in(dice: Dice, many: int) -> bool:
    """True once in so many times."""
    return dice.below(many) == 0


def address(dice: Dice) -> str:
    """An address, as a code."""
    return f"A-{dice.between(10_000, 99_999)}"


def card(dice: Dice) -> str:
    """A payment card, as a code."""
    return f"C-{dice.below(16**6):06X}"


def device(dice: Dice) -> str:
    """A device of somebody, as a code."""
    return f"D-{dice.below(16**4):04X}"


def stall_device(dice: Dice) -> str:
    """A tablet on a market stall."""
    return f"KX-{dice.between(1, 19):02}"


def member_number(dice: Dice) -> str:
    """The number of a member."""
    return f"M-{dice.below(10**6):06}"


def referral_code(dice: Dice) -> str:
    """The code by which friends of a member join."""
    letters = "".join(dice.pick("ABCDEFGHKLMNPRSTVW") for _ in range(4))
    return f"{letters}{dice.between(10, 99)}"


def friend_numbers(dice: Dice) -> Iterator[str]:
    """Numbers of friends, all different."""
    start, step = dice.below(90_000), 1 + 7 * dice.between(30, 900)
    return (f"F-{10_000 + (start + place * step) % 90_000}" for place in range(200))


def written(text: str, numbers: Sequence[str]) -> str:
    """A text with numbers of friends put in."""
    a, b, c = (*numbers, "F-00107", "F-00214", "F-00321")[:3]
    return text.format(a=a, b=b, c=c, digits=a.removeprefix("F-"))


@dataclass(frozen=True, kw_only=True)
class Circle:
    """The friends that a member may have brought.

    Attributes:
        row: the ticket with the member's file.
        age: for how many days the member has been one.
        oldest: how many days ago the oldest friend that is looked at may have joined.
        hollow_days: after how many days a friend may leave and be hollow.
        boxes: how many boxes those paid for who left.
    """

    dice: Dice
    row: Row
    age: int
    oldest: int
    hollow_days: int
    boxes: Sequence[int]

    def friends(self) -> list[dict[str, Any]]:
        """Some of each sort, and some who share a device or a day with others."""
        dice, row = self.dice, self.row
        numbers = friend_numbers(dice)

        def friend(**cells: Any) -> dict[str, Any]:
            return self._friend(next(numbers)) | cells

        friends: list[dict[str, Any]] = []
        own = dice.pick((0, 0, 0, 0, 0, 1, 2, 2, 3))
        friends += [friend(card=row["card"], address=self._home()) for _ in range(own)]
        if one_in(dice, 4):
            friends.append(friend(device=row["device"], address=self._home()))
        for _ in range(dice.pick((0, 0, 0, 1, 2))):
            shared = card(dice)
            friends += [friend(card=shared) for _ in range(dice.pick((2, 2, 3, 3, 4)))]
        at_home = dice.pick((0, 0, 0, 1, 1, 2, 3))
        friends += [friend(address=row["address"]) for _ in range(at_home)]
        gone = dice.pick((0, 0, 1, 2, 2, 3, 4, 5))
        friends += [self._ending(friend()) for _ in range(gone)]
        friends += [friend() for _ in range(dice.pick((0, 1, 1, 2, 3)))]
        if one_in(dice, 3):
            shared_device = dice.pick((device(dice), stall_device(dice), None))
            self._together(friends, "device", shared_device)
        if friends and one_in(dice, 3):
            self._together(friends, "joined_on", friends[0]["joined_on"])
        return [self._consistent(one) for one in friends]

    def _home(self) -> str:
        home: str = self.dice.pick((self.row["address"], address(self.dice)))
        return home

    def _friend(self, number: str) -> dict[str, Any]:
        dice, oldest = self.dice, self.oldest
        older = (oldest, oldest + 1, dice.between(oldest + 2, oldest + 150))
        days = dice.pick((*older, *[dice.between(1, oldest - 1)] * 12))
        unit = dice.pick(("pounds", "credits"))
        reward = dice.between(200, 1_250) / 100 if unit == "pounds" else dice.between(8, 46)
        devices = (*[device(dice)] * 3, stall_device(dice), None)
        found = {
            "friend_id": number,
            "joined_on": ago(self.row["opened_on"], min(days, self.age)),
            "state": dice.pick((*["active"] * 9, "void")),
            "ended_on": None,
            "boxes_paid": dice.between(0, 14),
            "address": address(dice),
            "card": card(dice),
            "device": dice.pick(devices),
            "reward": None if one_in(dice, 8) else reward,
            "reward_unit": unit,
        }
        return self._ending(found) if one_in(dice, 5) else found

    def _ending(self, friend: dict[str, Any]) -> dict[str, Any]:
        """The same friend, who has left after some days."""
        dice, limit = self.dice, self.hollow_days
        soon = (limit, limit + 1, *[dice.between(1, limit - 1)] * 4)
        stayed = dice.pick((*soon, dice.between(limit + 2, 60)))
        ended = min(ago(friend["joined_on"], -stayed), self.row["opened_on"])
        boxes = dice.pick(self.boxes)
        return friend | {"state": "cancelled", "ended_on": ended, "boxes_paid": boxes}

    def _together(self, friends: list[dict[str, Any]], column: str, value: Any) -> None:
        for one in self.dice.shuffled(friends)[: self.dice.pick((2, 3, 3, 4, 4, 5))]:
            one[column] = value

    def _consistent(self, friend: dict[str, Any]) -> dict[str, Any]:
        """Nobody leaves before having joined, and a void referral has a day on which it ended."""
        ended = friend["ended_on"]
        if friend["state"] == "void" and ended is None:
            ended = self.row["opened_on"]
        return friend | {"ended_on": ended and max(ended, friend["joined_on"])}
