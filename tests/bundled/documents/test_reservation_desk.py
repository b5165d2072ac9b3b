"""The policy of `reservation_desk` says what card RD-3 says: worked out by hand, step by step.

Of 48 rows that were decided from the card and the inputs alone, the labels agreed with 47. The
other could not be decided, until the card and the transcripts said where an aside ends.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pytest_sopbench
from pytest_sopbench.bundled._phrases import PhraseBook

FOLDER = Path(pytest_sopbench.__file__).parent / "bundled" / "reservation_desk"
LINES = {
    one.meaning.removeprefix("line "): one.text
    for one in PhraseBook(FOLDER / "phrases.json").templates
}
DAYS = ("Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday")
REGULAR = {"visits": 9, "no_shows": 0, "house_account": False, "regular": True}
TABLE = "I would like to book for Tuesday, 19:30, 4 people."
NAME = "The name is Pell."
READ_BACK = (
    "So that is Tuesday 17 March at 19:30, 4 of you, in the name of Pell, and we reach you on"
    " 07700900123. Is that right?"
)
BOOKED = (TABLE, "5.3.1", NAME, READ_BACK)
SMOKE = "There is smoke coming from your kitchen window, I can see it from the road."
CARD = "Here is my card number: four nine two nine, double oh..."
IDIOTS = "You are a useless lot of idiots."
MANAGER = "Put me through to the manager, please."
WAIT = "Hold on a second."
SILENCE = "(a long silence)"
ASIDE = "(to somebody else: Shall we say seven o'clock?)"
NUTS = "I should say that nuts could kill my daughter, she carries a pen for it."
DOGS, TIE = "What about dogs?", "Do I need to wear a tie?"
CANCEL = "I would like to cancel booking QH-1111."


def page(number: int, **cells: Any) -> dict[str, Any]:
    """A day of the book, which begins on the Thursday of the call, the 12th."""
    rooms = {"lunch": 6, "early": 6, "late": 8}
    day = {"day": f"2026-03-{12 + number}", "weekday": DAYS[number % 7], "closed": False}
    return {**day, **rooms, **cells}


def call(*says: str, tuesday: Any = None, booking: Any = None, **inputs: Any) -> dict[str, Any]:
    """A call in which the guest and the desk speak in turn; the desk says a line by its number."""
    turns = [
        {"who": "guest", "says": text} if place % 2 == 0 else {"who": "desk", "says": desk(text)}
        for place, text in enumerate(says)
    ]
    book = [page(number, **(tuesday or {} if number == 5 else {})) for number in range(10)]
    mine = {"reference": "QH-1111", "day": "2026-03-19", "guests": 5, "deposit": 50}
    return {
        "called_on": "2026-03-12",
        "weekday": "Thursday",
        "display": "07700 900123",
        "record": None,
        "book": book,
        "bookings": [mine | (booking or {})],
        "dialogue": turns,
        **inputs,
    }


def desk(text: str) -> str:
    return LINES.get(text, text) or "(says nothing)"


@pytest.mark.parametrize(
    ("case", "step"),
    [
        pytest.param(call("Good morning."), "4.1", id="4.1-nothing-yet"),
        pytest.param(call("I left my umbrella with you last night."), "4.2", id="4.2-else"),
        pytest.param(call("I would like to book a table."), "5.1.1", id="5.1.1-day"),
        pytest.param(call("I would like a table on Friday."), "5.1.2", id="5.1.2-time"),
        pytest.param(call("Do you have a table at 19:30 on Tuesday?"), "5.1.3", id="5.1.3-guests"),
        pytest.param(call("I need a table for 11."), "5.2.1", id="5.2.1-eleven-at-once"),
        pytest.param(call("I need a table for 10."), "5.1.1", id="5.2.1-ten-are-no-events"),
        pytest.param(
            call("A table for 4 on Friday the 14th at 19:30, please."), "5.1.1", id="2.3-disagree"
        ),
        pytest.param(call("A table for 4 on Monday at 19:30, please."), "5.2.2", id="5.2.2-monday"),
        pytest.param(call(TABLE, tuesday={"closed": True}), "5.2.2", id="5.2.2-marked-closed"),
        pytest.param(
            call("A table for 4 on Tuesday at 19:15, please.", tuesday={"late": 0}),
            "5.3.1",
            id="2.5-early-to-the-last",
        ),
        pytest.param(
            call("A table for 4 on Tuesday at 15:00, please."), "5.2.3", id="5.2.3-no-sitting"
        ),
        pytest.param(call(TABLE, tuesday={"late": 4}), "5.3.1", id="5.2-just-enough"),
        pytest.param(call(TABLE, tuesday={"late": 3}), "5.2.4", id="5.2.4-another-sitting"),
        pytest.param(
            call(TABLE, tuesday={"late": 3, "early": 0, "lunch": 3}), "5.2.5", id="5.2.5-full"
        ),
        pytest.param(call(TABLE), "5.3.1", id="5.3.1-name"),
        pytest.param(
            call(TABLE, "5.3.1", NAME, display="withheld"), "5.3.2", id="5.3.2-number-withheld"
        ),
        pytest.param(call(TABLE, "5.3.1", NAME), "5.4.1", id="5.4.1-number-on-display"),
        pytest.param(call(*BOOKED, "Yes."), "5.4.5", id="5.4.5-no-deposit"),
        pytest.param(call(*BOOKED, "No."), "5.4.2", id="5.4.2-what-then"),
        pytest.param(
            call(*BOOKED, "Yes. No, wait, make that 5."), "5.4.1", id="3.5-yes-and-a-change"
        ),
        pytest.param(call(*BOOKED, "Sorry, I have miscounted, we are 9."), "5.2.5", id="3.2-back"),
        pytest.param(call(*BOOKED, DOGS, "H2", "Yes."), "5.4.5", id="3.4-over-a-house-line"),
        pytest.param(
            call(*BOOKED, DOGS, "H2", "Thanks, that is good to know."), "5.4.1", id="3.2-put-again"
        ),
        pytest.param(
            call(*BOOKED, "Yes.", record={"no_shows": 2}), "5.4.3", id="5.4.3-two-no-shows"
        ),
        pytest.param(
            call(*BOOKED, "Yes.", record={"no_shows": 2, "house_account": True}),
            "5.4.5",
            id="5.4.3-never-from-a-house-account",
        ),
        pytest.param(
            call(*BOOKED, "Yes.", "5.4.3", "No.", record={"no_shows": 2}), "5.4.4", id="5.4.4"
        ),
        pytest.param(
            call(*BOOKED, "Yes.", "5.4.3", "Yes.", record={"no_shows": 2}), "5.4.5", id="5.4.5"
        ),
        pytest.param(
            call(*BOOKED, "Yes.", "5.4.3", "Make it 20:00 instead.", record={"no_shows": 2}),
            "5.4.1",
            id="3.6-confirmed-anew",
        ),
        pytest.param(call("I am calling to cancel."), "6.1.1", id="6.1.1-reference"),
        pytest.param(call(CANCEL), "6.2.2", id="6.2.2-shall-i"),
        pytest.param(call("I would like to cancel booking QH-9999."), "6.1.2", id="6.1.2-missed"),
        pytest.param(
            call("I am calling to cancel.", "6.1.1", "I do not have the reference."),
            "6.1.2",
            id="6.1.2-none-at-hand",
        ),
        pytest.param(
            call(
                "I would like to cancel booking QH-9999.",
                "6.1.2",
                "I had the wrong slip, QH-9998 is the one.",
            ),
            "6.1.3",
            id="6.1.3-missed-twice",
        ),
        pytest.param(
            call(CANCEL, booking={"day": "2026-03-13"}), "6.2.1", id="6.2.1-the-day-after"
        ),
        pytest.param(
            call(CANCEL, booking={"day": "2026-03-14"}), "6.2.2", id="6.2.1-two-days-after"
        ),
        pytest.param(
            call(CANCEL, booking={"day": "2026-03-12", "deposit": 0}),
            "6.2.2",
            id="6.2.1-no-deposit",
        ),
        pytest.param(call(CANCEL, "6.2.2", "Yes."), "6.3.1", id="6.3.1-struck-out"),
        pytest.param(call(CANCEL, "6.2.2", "No."), "6.3.2", id="6.3.2-stays"),
        pytest.param(
            call(CANCEL, "6.2.2", "Leave it then, I would rather have a new table."),
            "5.1.1",
            id="3.1-another-wish",
        ),
    ],
)
def test_the_call_stands_at_the_step(reservation_desk: Any, case: Any, step: str) -> None:
    slip = reservation_desk.decide(case)

    assert (step, step, None) == (slip["step"], slip["line"], slip["rule"])


@pytest.mark.parametrize(
    ("case", "rule", "line", "step"),
    [
        pytest.param(call(f"{CARD} {SMOKE}"), "G1", "G1", "4.1", id="G1-before-all"),
        pytest.param(call(f"{CARD} {IDIOTS}"), "G2", "G2", "4.1", id="G2-before-G3"),
        pytest.param(call(f"{IDIOTS} {MANAGER}"), "G3", "G3.1", "4.1", id="G3-before-G4"),
        pytest.param(call(IDIOTS, "G3.1", IDIOTS), "G3", "G3.2", "4.1", id="G3-again"),
        pytest.param(call(MANAGER), "G4", "G4.1", "4.1", id="G4-first"),
        pytest.param(call(MANAGER, "G4.1", MANAGER), "G4", "G4.2", "4.1", id="G4-again"),
        pytest.param(call(MANAGER, record=REGULAR), "G4", "G4.2", "4.1", id="G4-regular"),
        pytest.param(
            call(f"I need a table for 12. {MANAGER}"), None, "5.2.1", "5.2.1", id="G4-anyway"
        ),
        pytest.param(call(f"{WAIT} {DOGS}"), "G5", None, "4.1", id="G5-wait"),
        pytest.param(call(TABLE, "5.3.1", ASIDE), "G5", None, "5.3.1", id="G5-aside"),
        pytest.param(
            call(TABLE, "5.3.1", f"{ASIDE} {NAME}"), None, "5.4.1", "5.4.1", id="G5-aside-and-name"
        ),
        pytest.param(call(WAIT, "", SILENCE), "G5", None, "4.1", id="G5-still-waiting"),
        pytest.param(call(WAIT, "", SILENCE, "", SILENCE), "G6", "G6.1", "4.1", id="G6-waited"),
        pytest.param(call(SILENCE), "G6", "G6.1", "4.1", id="G6-first"),
        pytest.param(call(SILENCE, "G6.1", SILENCE), "G6", "G6.2", "4.1", id="G6-again"),
        pytest.param(
            call(SILENCE, "G6.1", TABLE, "5.3.1", SILENCE), "G6", "G6.1", "5.3.1", id="G6-anew"
        ),
        pytest.param(call(f"{TABLE} {NUTS} {DOGS}"), "G7", "G7", "5.3.1", id="G7-before-G8"),
        pytest.param(
            call(f"{TABLE} {NUTS}", "G7", NUTS), None, "5.3.1", "5.3.1", id="G7-once-in-a-call"
        ),
        pytest.param(
            call(f"I am calling to cancel. {NUTS}"), None, "6.1.1", "6.1.1", id="G7-nobody-eats"
        ),
        pytest.param(
            call(f"{TABLE} We have two vegetarians."), None, "5.3.1", "5.3.1", id="G7-diets"
        ),
        pytest.param(call(f"{DOGS} {TIE}"), "G8", "H3", "4.1", id="G8-the-last"),
        pytest.param(call(*BOOKED, f"Yes. {DOGS}"), "G8", "H2", "5.4.5", id="G8-and-an-answer"),
    ],
)
def test_the_rule_comes_before_the_step(
    reservation_desk: Any, case: Any, rule: str | None, line: str | None, step: str
) -> None:
    slip = reservation_desk.decide(case)

    assert (rule, line, step) == (slip["rule"], slip["line"], slip["step"])


@pytest.mark.parametrize(
    ("case", "fact", "value"),
    [
        pytest.param(
            call("I would like a table on Thursday."), "day", "2026-03-19", id="2.2-not-today"
        ),
        pytest.param(
            call("Could you find us something for tomorrow?"), "day", "2026-03-13", id="2.2"
        ),
        pytest.param(
            call("I would like a table on the 3rd."), "day", "2026-04-03", id="2.2-the-3rd"
        ),
        pytest.param(
            call("I would like to book a table.", "5.1.3", "Three adults and two children."),
            "guests",
            5,
            id="2.6-children",
        ),
        pytest.param(
            call("I need a table for 6.", "5.1.1", "Not 6, I was wrong, 2."), "guests", 2, id="2.1"
        ),
        pytest.param(call("May I book a table for 2 at 7.15?"), "time", "19:15", id="2.4-evening"),
        pytest.param(
            call(TABLE, "5.2.4", "Yes.", tuesday={"late": 0}), "time", "17:30", id="5.2.4-yes"
        ),
        pytest.param(call(TABLE, "5.2.4", "No.", tuesday={"late": 0}), "day", None, id="5.2.4-no"),
        pytest.param(call(CANCEL.replace("-", "")), "reference", "QH-1111", id="2.7-hyphen"),
        pytest.param(
            call(*BOOKED, "Rather use 07700900777, the other one is the office."),
            "phone",
            "07700900777",
            id="2.7-another-number",
        ),
    ],
)
def test_the_fact_is_known(reservation_desk: Any, case: Any, fact: str, value: Any) -> None:
    assert value == reservation_desk.decide(case)["facts"][fact]
