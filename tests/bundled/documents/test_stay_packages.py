"""The policy of `stay_packages` says what sheet SP-12 says: worked out by hand, clause by clause.

Sixteen rows were worked out from the sheet and the inputs alone, to the penny; the labels agreed
with all of them.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

MAY = "May we have 3 nights from 4 May?"  # a Tuesday; 4 to 6 May
COUPLE = "It is for my wife and me."
WALK, SPA = "Please add the Walking Days.", "Please with your sauna package."
TABLE, FARM = "Kitchen Table, please, we loved the pies.", "Please add Farm Days."


def nights(number: int, arrival: str = "4 May") -> str:
    return f"May we have {number} nights from {arrival}?"


def letter(*says: str, **inputs: Any) -> dict[str, Any]:
    """A letter that came on 1 March 2027, of somebody who was never here."""
    text = "\n".join(("Good morning.", " ".join(says), "Yours, Tilley"))
    given = {"received": "2027-03-01", "earlier_stays": 0, "calendar": [], "letter": text}
    return given | inputs


def entry(what: str, first: str, last: str) -> dict[str, Any]:
    return {"calendar": [{"what": what, "from": f"2027-{first}", "to": f"2027-{last}"}]}


@pytest.mark.parametrize(
    ("case", "path", "expected"),
    [
        pytest.param(letter(MAY, COUPLE), "departure", "2027-05-07", id="2.2-departure"),
        pytest.param(letter(nights(2, "1 March"), COUPLE), "arrival", "2028-03-01", id="2.1-next"),
        pytest.param(letter(nights(2, "2 March"), COUPLE), "arrival", "2027-03-02", id="2.1-day"),
        pytest.param(
            letter("It should be 3 nights, and we leave on the morning of 7 May.", COUPLE),
            "arrival",
            "2027-05-04",
            id="2.2-arrival",
        ),
        pytest.param(
            letter(
                "We would like to come from 4 May to 9 May.", COUPLE, "No, make that two nights."
            ),
            "departure",
            "2027-05-06",
            id="2.3-nights-corrected",
        ),
        pytest.param(
            letter(MAY, COUPLE, "Could we move all of it, so that we arrive on 10 May?"),
            "departure",
            "2027-05-13",
            id="2.3-arrival-corrected",
        ),
        pytest.param(letter(MAY, COUPLE, SPA, TABLE), "package", "TABLE", id="2.3-last-package"),
        pytest.param(
            letter(MAY, COUPLE, "My parents are coming along too."), "adults", 4, id="2.3-parents"
        ),
        pytest.param(letter(MAY, COUPLE, "Our son is 16."), "adults", 3, id="2.4-sixteen"),
        pytest.param(letter(MAY, COUPLE, "Our son is 15."), "adults", 2, id="2.4-fifteen"),
        pytest.param(
            letter(MAY, COUPLE, "Our son is 16.", "And there is the baby, eight months old."),
            "children",
            [0],
            id="2.4-baby",
        ),
        pytest.param(letter(nights(3, "29 June"), COUPLE), "season_nights.high", 1, id="2.6-july"),
        pytest.param(letter(nights(3, "28 June"), COUPLE), "season_nights.high", 0, id="2.6-june"),
        pytest.param(
            letter(nights(3, "1 January"), COUPLE), "season_nights.high", 2, id="2.6-2-jan"
        ),
        pytest.param(letter(nights(2, "30 October"), COUPLE), "season_nights.mid", 2, id="2.6-oct"),
        pytest.param(
            letter(MAY, COUPLE, **entry("fair", "05-06", "05-07")),
            "season_nights.high",
            1,
            id="2.7-fair",
        ),
        pytest.param(letter(MAY, "There will be 5 grown-ups."), "rooms", ["D", "D", "S"], id="3.4"),
        pytest.param(letter(MAY, COUPLE, "Our son is 2."), "rooms", ["D"], id="3.1-cot"),
        pytest.param(letter(MAY, COUPLE, "Our son is 3."), "rooms", ["F"], id="3.1-bed"),
        pytest.param(
            letter(MAY, COUPLE, "The children are 4, 6 and 8 years old."),
            "rooms",
            ["F", "F"],
            id="3.4-two-children-a-room",
        ),
        pytest.param(
            letter(MAY, "There will be 5 grown-ups.", "Our son is 8."),
            "rooms",
            ["F", "F", "F"],
            id="3.4-two-adults-a-room",
        ),
        pytest.param(
            letter(MAY, COUPLE, "2 single rooms, please."), "rooms", ["S", "S"], id="3.3-named"
        ),
        pytest.param(letter(MAY, COUPLE), "sums.rooms", 3 * 98, id="4.1-mid"),
        pytest.param(letter(nights(3, "29 June"), COUPLE), "sums.rooms", 98 * 2 + 124, id="4.1"),
        pytest.param(
            letter(MAY, COUPLE, "The children are 5 and 6.", WALK),
            "sums.package",
            2 * 35 + 12,
            id="5.1-walk",
        ),
        pytest.param(letter(MAY, COUPLE, SPA), "sums.package", 120, id="5.1-spa"),
        pytest.param(
            letter(nights(3, "9 May"), COUPLE, "Our son is 6.", TABLE),
            "sums.package",
            2 * (2 * 28 + 14),
            id="5.1-table-not-on-monday",
        ),
        pytest.param(
            letter(MAY, COUPLE, "The children are 3, 12 and 13 years old.", FARM),
            "sums.package",
            2 * 40,
            id="5.1-farm",
        ),
        pytest.param(
            letter(nights(4), COUPLE, "Our son is 3.", FARM), "sums.package", 30, id="5.1-farm-4"
        ),
        pytest.param(letter(MAY, COUPLE, WALK), "programme", ["2027-05-06"], id="5.3-thursday"),
        pytest.param(
            letter(MAY, COUPLE, SPA), "programme", ["2027-05-04", "2027-05-06"], id="5.3-spa"
        ),
        pytest.param(
            letter(nights(2), COUPLE, "Our son is 3.", FARM), "programme", ["2027-05-05"], id="5.3"
        ),
        pytest.param(
            letter(nights(6), COUPLE, "May 2 dogs come too? They must."),
            "sums.extras",
            100,
            id="6.1",
        ),
        pytest.param(
            letter(MAY, COUPLE, "May 3 dogs come too? They must."),
            "extras",
            [{"code": "DOG", "quantity": 2}],
            id="6.2-two-dogs",
        ),
        pytest.param(
            letter(MAY, COUPLE, "Our son is 2."),
            "extras",
            [{"code": "COT", "quantity": 1}],
            id="6.1-cot-unasked",
        ),
        pytest.param(
            letter(MAY, "There will be 3 grown-ups.", "Please with the late departure."),
            "sums.extras",
            40,
            id="6.1-late-by-room",
        ),
        pytest.param(letter(nights(7), COUPLE), "discount_reason", "long", id="7.1-seven-nights"),
        pytest.param(letter(nights(6), COUPLE), "discount_reason", "none", id="7.1-six-nights"),
        pytest.param(
            letter(nights(3, "30 May"), COUPLE), "discount_reason", "early", id="7.1-90-days"
        ),
        pytest.param(
            letter(nights(3, "29 May"), COUPLE), "discount_reason", "none", id="7.1-89-days"
        ),
        pytest.param(
            letter(MAY, COUPLE, earlier_stays=3), "discount_reason", "friend", id="7.1-friend"
        ),
        pytest.param(
            letter(MAY, COUPLE, earlier_stays=3, **entry("fair", "05-05", "05-05")),
            "discount_reason",
            "none",
            id="7.1-no-friends-in-high-season",
        ),
        pytest.param(letter(nights(8), COUPLE), "sums.tax", 21.0, id="7.3-seven-nights-of-tax"),
        pytest.param(letter(MAY, COUPLE, "Our son is 9."), "sums.tax", 9.0, id="7.3-children-free"),
        pytest.param(letter(MAY, COUPLE), "deposit.amount", 91, id="8.1-of-303-pounds"),
        pytest.param(letter(MAY, COUPLE), "deposit.due", "2027-03-08", id="8.1-seven-days"),
        pytest.param(
            letter(nights(2, "20 March"), COUPLE), "deposit.due", "2027-03-06", id="8.1-14-before"
        ),
        pytest.param(
            letter(nights(2, "15 March"), COUPLE), "deposit.amount", 166.0, id="8.2-all-of-it"
        ),
        pytest.param(
            letter(nights(2, "15 March"), COUPLE), "deposit.due", "2027-03-01", id="8.2-at-once"
        ),
    ],
)
def test_policy_follows_the_clause(stay_packages: Any, case: Any, path: str, expected: Any) -> None:
    paper = stay_packages.decide(case)

    assert expected == reduce(lambda part, name: part[name], path.split("."), paper)


@pytest.mark.parametrize(
    ("case", "answer", "flags"),
    [
        pytest.param(letter(MAY, COUPLE, WALK), "offer", [], id="9.5-as-wished"),
        pytest.param(
            letter(nights(2), COUPLE, WALK), "changed_offer", ["too-short"], id="5.4-too-short"
        ),
        pytest.param(
            letter(MAY, COUPLE, "Our son is 15.", SPA), "changed_offer", ["adults-only"], id="5.4"
        ),
        pytest.param(
            letter(MAY, COUPLE, SPA, **entry("sauna closed", "05-07", "05-09")),
            "changed_offer",
            ["sauna-closed"],
            id="5.4-sauna-on-the-last-day",
        ),
        pytest.param(
            letter(MAY, COUPLE, SPA, **entry("sauna closed", "05-08", "05-09")),
            "offer",
            [],
            id="5.4-sauna-a-day-later",
        ),
        pytest.param(
            letter(MAY, COUPLE, "Our son is 13.", FARM),
            "changed_offer",
            ["no-farm-child"],
            id="5.4-no-farm-child",
        ),
        pytest.param(
            letter(MAY, COUPLE, "May 3 dogs come too? They must."),
            "changed_offer",
            ["two-dogs"],
            id="6.2-dogs",
        ),
        pytest.param(
            letter(MAY, COUPLE, **entry("house closed", "05-06", "05-06")),
            "decline",
            ["closed"],
            id="9.2-closed",
        ),
        pytest.param(
            letter(MAY, COUPLE, **entry("house closed", "05-07", "05-09")),
            "offer",
            [],
            id="9.2-closed-after-the-last-night",
        ),
        pytest.param(
            letter(nights(2, "30 June"), COUPLE), "decline", ["minimum-stay"], id="2.8-two-nights"
        ),
        pytest.param(letter(nights(3, "30 June"), COUPLE), "offer", [], id="2.8-three-nights"),
        pytest.param(letter(COUPLE, SPA), "ask", ["dates"], id="9.3-dates"),
        pytest.param(letter(MAY, WALK), "ask", ["adults"], id="9.3-adults"),
        pytest.param(
            letter(MAY, COUPLE, "We bring 2 children.", "Our son is 9."), "ask", ["ages"], id="2.5"
        ),
        pytest.param(
            letter(MAY, COUPLE, "We bring 2 children.", "The children are 9 and 17."),
            "offer",
            [],
            id="2.5-grown-up-children-count",
        ),
        pytest.param(
            letter(MAY, "There will be 3 grown-ups.", "2 single rooms, please."),
            "ask",
            ["beds"],
            id="9.3-beds",
        ),
        pytest.param(
            letter(nights(2, "30 June"), "We bring 2 children.", SPA),
            "decline",
            ["minimum-stay", "adults", "ages"],
            id="9.1-refused-before-asked",
        ),
    ],
)
def test_the_answer_is_the_first_that_fits(
    stay_packages: Any, case: Any, answer: str, flags: list[str]
) -> None:
    paper = stay_packages.decide(case)

    assert (answer, flags) == (paper["answer"], paper["flags"])


def test_only_an_offer_has_sums(stay_packages: Any) -> None:
    """Also where all that they would be made of is told."""
    paper = stay_packages.decide(letter(nights(2, "30 June"), COUPLE, SPA))

    assert "SPA" == paper["package"]
    assert ([], None, None, None) == (
        paper["programme"],
        paper["sums"],
        paper["discount_reason"],
        paper["deposit"],
    )


def test_the_total_is_the_sum_of_its_parts(stay_packages: Any) -> None:
    sums = [row["sums"] for row in stay_packages.rows if row["sums"]]

    assert sums
    for one in sums:
        parts = one["rooms"] + one["package"] + one["extras"] - one["discount"] + one["tax"]
        assert round(parts, 2) == one["total"]
