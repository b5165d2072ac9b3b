"""The policy of `video_classification` says what the House Rules say, and the noise is noise.

Worked out by hand, article by article. A note is read here by its facts, as `readings.json` has
them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_sopbench.errors import ToolError

CONCERNS = ("MINORS", "HATE", "NUDITY", "VIOLENCE", "DANGER", "DECEPTION")


# --- cases -----------------------------------------------------------------------------------


def lines(*scores: tuple[str, float], seconds: int = 5) -> list[dict[str, Any]]:
    return [
        {"concern": concern, "score": score, "seconds": seconds, "state": "live"}
        for concern, score in scores
    ]


def person(number: int, **cells: Any) -> dict[str, Any]:
    """Somebody who may be asked about anything."""
    return {
        "reads": "de",
        "moderator_id": f"M-{number}",
        "regions_known": ["north"],
        "grade": 3,
        "seat": "desk",
        "permit_until": "2026-12-31",
        "open_slips": 3,
    } | cells


def note(says: str, **facts: Any) -> dict[str, Any]:
    return {"says": says, "watched": "all"} | facts


FILE = {
    "state": "ready",
    "container": "mp4",
    "size": 900,
    "size_unit": "MB",
    "frames": 25_000,
    "frame_rate": 25,
    "unreadable_frames": 0,
    "flashes_per_second": 1.2,
}
SLIP = {
    "upload_id": "UP-000001",
    "channel_id": "CH-00001",
    "channel_kind": "ordinary",
    "language": "de-AT",
    "region": "north",
    "audience": "everyone",
    "edited_on": None,
    "desk_day": "2026-03-20",
    "title": "satire, harmless",
    "remark": "It was a mistake.",
}


class Rooms:
    """The five services, as one case wants them."""

    def __init__(self, domain: Any, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]) -> None:
        self._given = {
            "lines": lines(("NUDITY", 70)),
            "scale": 100,
            "scored_on": "2026-03-19",
            "people": [person(200), person(300)],
            "notes": [note("there")],
            "busy": 0,
            "register": "entered",
        } | given
        self._domain = domain
        self._notes = list(self._given["notes"])
        self.asked: list[str] = []
        self.entered: list[dict[str, Any]] = []
        readings = {json.dumps(one): one for one in self._notes if one}
        monkeypatch.setitem(domain.decide.__globals__, "READINGS", readings)

    def answer(self) -> tuple[str, str, str]:
        slip = {name: self._given.get(name, cell) for name, cell in SLIP.items()}
        tag, warning, decision = self._domain.decide(slip, self._call).values()
        return tag, warning, decision

    def _call(self, name: str, /, **arguments: Any) -> Any:
        given = self._given
        match name:
            case "check_upload_file":
                busy = arguments["attempt"] <= given["busy"]
                file = FILE | {one: given.get(one, cell) for one, cell in FILE.items()}
                return {"state": "busy"} if busy else file
            case "get_review_record":
                if given["lines"] is None:
                    raise ToolError(name)
                return {one: given[one] for one in ("scored_on", "scale", "lines")}
            case "search_moderators":
                return [one for one in given["people"] if one["reads"] == arguments["reads"]]
            case "ask_moderator":
                self.asked.append(arguments["moderator_id"])
                said = self._notes.pop(0)
                answer = "note" if said else "passed"
                return {"answer": answer, "note": json.dumps(said) if said else None}
        self.entered.append(arguments)
        return {"register": given["register"]}


@pytest.fixture
def rooms(
    video_classification: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, Any]], Rooms]:
    return lambda given: Rooms(video_classification, monkeypatch, given)


CLEAR = ("NONE", "NONE", "PUBLISH")
WAITS = ("NONE", "NONE", "HOLD")
BACK = ("NONE", "NONE", "RETURN")
BARE = ("NUDITY", "AGE_GATE", "RESTRICT")
NEWSROOM = {"channel_kind": "newsroom"}
CHILDREN = {"audience": "made for children"}
LOW = {"lines": lines(("HATE", 20))}
OLD = {"edited_on": "2026-03-20"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"busy": 1}, BARE, id="9 busy once"),
        pytest.param({"busy": 2}, WAITS, id="9 busy twice"),
        pytest.param({"container": "mov"}, BACK, id="10 mov"),
        pytest.param(NEWSROOM | {"container": "mov"}, BARE, id="10 mov of a newsroom"),
        pytest.param({"size": 4.0, "size_unit": "GB"}, BARE, id="12 just as big as is allowed"),
        pytest.param({"size": 4.001, "size_unit": "GB"}, BACK, id="12 a megabyte more"),
        pytest.param({"frames": 75}, BARE, id="13 three seconds"),
        pytest.param({"frames": 74}, BACK, id="13 a frame less"),
        pytest.param({"frames": 180_001}, BACK, id="13 a frame too many"),
        pytest.param({"frames": 360_000, "channel_kind": "school"}, BARE, id="13 a lecture"),
        pytest.param({"unreadable_frames": 1_000}, BARE, id="14 four in a hundred"),
        pytest.param({"unreadable_frames": 1_001}, BACK, id="14 one more"),
        pytest.param({"lines": None}, WAITS, id="17 no record"),
        pytest.param(
            {"lines": [{**lines(("NUDITY", 99))[0], "state": "void"}]}, CLEAR, id="18 a void line"
        ),
        pytest.param({"lines": lines(("NUDITY", 0.4499)), "scale": 1}, CLEAR, id="22 just below"),
        pytest.param({"lines": lines(("NUDITY", 450)), "scale": 1000}, BARE, id="22 at the limit"),
        pytest.param(
            CHILDREN | {"lines": lines(("NUDITY", 35))},
            ("NUDITY", "STRIKE", "REMOVE"),
            id="23 ten points lower",
        ),
        pytest.param(
            {"audience": "adults", "lines": lines(("NUDITY", 64.9))}, CLEAR, id="24 adults"
        ),
        pytest.param({"unreadable_frames": 1, "lines": lines(("NUDITY", 40))}, BARE, id="25 a gap"),
        pytest.param(
            {"lines": lines(("NUDITY", 70), ("DECEPTION", 97))},
            ("DECEPTION", "NOTICE", "RESTRICT"),
            id="27 the settled one leads",
        ),
        pytest.param(
            {"lines": lines(("MINORS", 15), ("DECEPTION", 97)), "notes": [note("not there")]},
            CLEAR,
            id="27 minors lead all the same",
        ),
        pytest.param(LOW, CLEAR, id="29 nothing in question"),
        pytest.param(
            LOW | OLD, ("HATE", "STRIKE", "REMOVE"), id="20 old, so that somebody has to look"
        ),
        pytest.param(
            {"lines": lines(("HATE", 99)), "notes": [note("not there")]},
            ("HATE", "STRIKE", "REMOVE"),
            id="31 settled, and nobody asked",
        ),
        pytest.param(
            {"lines": lines(("HATE", 99)), "notes": [note("not there")], **OLD},
            CLEAR,
            id="46 old, and not there",
        ),
        pytest.param(
            NEWSROOM | {"lines": lines(("HATE", 99)), "notes": [note("not there")]},
            ("HATE", "STRIKE", "REMOVE"),
            id="46 the number stands for a newsroom",
        ),
        pytest.param(
            NEWSROOM
            | {"lines": lines(("HATE", 99)), "notes": [note("not there", purpose="reports")]},
            CLEAR,
            id="46 overruled with a purpose",
        ),
        pytest.param(
            {"people": [person(200, reads="en")]}, BARE, id="33 the second list for a picture"
        ),
        pytest.param(
            {"people": [person(200, reads="en")], "lines": lines(("HATE", 50))},
            ("HATE", "NONE", "HOLD"),
            id="33 none for words",
        ),
        pytest.param(
            {"people": [person(200, permit_until="2026-03-19")]},
            ("NUDITY", "NONE", "HOLD"),
            id="34 a permit that ended",
        ),
        pytest.param(
            {"notes": [None, None, note("there")]}, ("NUDITY", "NONE", "HOLD"), id="39 two passed"
        ),
        pytest.param(
            {"notes": [note("there", watched="nothing"), note("not there")]},
            CLEAR,
            id="41 not watched",
        ),
        pytest.param({"notes": [note("there", no_words=True)]}, BARE, id="42 no words needed"),
        pytest.param({"notes": [note("there", watched="part")]}, BARE, id="43 a part is enough"),
        pytest.param(
            {"notes": [note("unsure")], "lines": lines(("NUDITY", 75))}, BARE, id="44 close enough"
        ),
        pytest.param(
            {"notes": [note("unsure")], "lines": lines(("NUDITY", 74.9))}, CLEAR, id="44 too far"
        ),
        pytest.param(
            {"notes": [note("unsure")], **OLD}, ("NUDITY", "NONE", "HOLD"), id="44 no number left"
        ),
        pytest.param(
            {"notes": [note("not there", watched="part")], "lines": lines(("NUDITY", 80))},
            BARE,
            id="45 only a part",
        ),
        pytest.param(
            {"notes": [note("there", purpose="teaches")]},
            ("NUDITY", "NOTICE", "PUBLISH"),
            id="51 softened",
        ),
        pytest.param({"notes": [note("there", purpose="acts")]}, BARE, id="51 not by this"),
        pytest.param(
            {"notes": [note("there", purpose="teaches", told=True)]}, BARE, id="49 only told"
        ),
        pytest.param(
            {"notes": [note("not there", beside="DECEPTION", where=True)]},
            ("DECEPTION", "NOTICE", "RESTRICT"),
            id="50 another concern",
        ),
        pytest.param({"notes": [note("not there", beside="DECEPTION")]}, CLEAR, id="50 no time"),
        pytest.param(
            {"notes": [note("there", beside="MINORS")]},
            ("MINORS", "STRIKE", "REMOVE"),
            id="50 minors without a time",
        ),
        pytest.param(
            {"notes": [note("there", purpose="reports", beside="HATE", where=True)]},
            ("HATE", "STRIKE", "REMOVE"),
            id="48 what is beside is not softened",
        ),
        pytest.param(
            {"lines": lines(("VIOLENCE", 95), ("VIOLENCE", 10), seconds=30)},
            ("VIOLENCE", "AGE_GATE", "RESTRICT"),
            id="52 sixty seconds",
        ),
        pytest.param(
            {"lines": lines(("VIOLENCE", 95), ("VIOLENCE", 10), seconds=31)},
            ("VIOLENCE", "STRIKE", "REMOVE"),
            id="52 more",
        ),
        pytest.param({"audience": "adults"}, ("NUDITY", "AGE_GATE", "PUBLISH"), id="53 adults"),
        pytest.param(CHILDREN, ("NUDITY", "STRIKE", "REMOVE"), id="54 children"),
        pytest.param(
            CHILDREN | {"notes": [note("there", mistake=True)]},
            ("NUDITY", "NOTICE", "REMOVE"),
            id="55 a mistake",
        ),
        pytest.param(
            {"lines": lines(("MINORS", 50)), "notes": [note("there", mistake=True)]},
            ("MINORS", "STRIKE", "REMOVE"),
            id="55 no mercy",
        ),
        pytest.param(LOW | {"flashes_per_second": 3.0}, CLEAR, id="56 calm"),
        pytest.param(
            LOW | {"flashes_per_second": 3.1}, ("NONE", "FLASH", "PUBLISH"), id="56 it flickers"
        ),
        pytest.param({"flashes_per_second": 9.0}, BARE, id="56 behind an age gate"),
        pytest.param({"register": "sealed"}, ("NUDITY", "NONE", "HOLD"), id="59 sealed"),
    ],
)
def test_the_policy_answers_as_the_articles_say(
    rooms: Callable[[dict[str, Any]], Rooms],
    given: dict[str, Any],
    expected: tuple[str, str, str],
) -> None:
    assert expected == rooms(given).answer()


@pytest.mark.parametrize(
    ("people", "asked"),
    [
        pytest.param([person(300), person(200)], "M-200", id="the lower number"),
        pytest.param([person(300, open_slips=2), person(200)], "M-300", id="fewer open slips"),
        pytest.param(
            [person(300), person(200, open_slips=0, regions_known=["isles"])],
            "M-300",
            id="the region before the slips",
        ),
        pytest.param([person(300), person(200, open_slips=12)], "M-300", id="a full table"),
        pytest.param([person(300), person(200, seat="training")], "M-300", id="in training"),
    ],
)
def test_the_first_who_may_is_asked(
    rooms: Callable[[dict[str, Any]], Rooms], people: list[dict[str, Any]], asked: str
) -> None:
    """Articles 34 and 35."""
    desk = rooms({"people": people})

    desk.answer()

    assert [asked] == desk.asked


def test_a_file_that_goes_back_is_not_entered(rooms: Callable[[dict[str, Any]], Rooms]) -> None:
    """Articles 15 and 60; everything else is, also what waits."""
    back, waits = rooms({"container": "avi"}), rooms({"busy": 2})

    back.answer()
    waits.answer()

    assert [] == back.entered
    assert ["HOLD"] == [one["decision"] for one in waits.entered]


# --- noise -----------------------------------------------------------------------------------


def test_five_tools_of_twenty_five_are_needed(video_classification: Any) -> None:
    assert (198, 25, 20) == (
        len(video_classification.rows),
        len(video_classification.specs),
        len(video_classification.distractors),
    )


def test_every_distractor_answers_something(video_classification: Any, tools_of: Any) -> None:
    """A tool that fails or says nothing would give itself away."""
    row = video_classification.rows[0]
    arguments = {name: row.get(name, "x") for name in row} | {
        "moderator_id": row["moderators"][0]["moderator_id"],
        "reads": row["reviewers"][0]["reads"],
    }

    for name in video_classification.distractors:
        wanted = video_classification.specs[name]["properties"]
        given = {one: arguments.get(one, "x") for one in wanted}
        assert tools_of(video_classification, row).call(name, **given) is not None


def test_the_procedure_is_long_and_part_of_it_is_repealed(video_classification: Any) -> None:
    sop = (video_classification.folder / "sop.md").read_text("utf-8")

    assert 3_000 < len(sop.split()) <= 3_500
    assert 8 == sop.count("** (repealed)\n\n*Commentary.*")


def notes_read(domain: Any, tools_of: Any) -> Counter[str]:
    read: Counter[str] = Counter()
    for row in domain.rows:
        tools = tools_of(domain, row)

        def call(name: str, /, tools: Any = tools, **arguments: Any) -> Any:
            answer = tools.call(name, **arguments)
            if name == "ask_moderator" and answer["note"]:
                read[answer["note"]] += 1
            return answer

        domain.decide(domain.inputs(row), call)
    return read


def test_notes_are_many_and_none_decides_often(video_classification: Any, tools_of: Any) -> None:
    read = notes_read(video_classification, tools_of)

    assert len(read) >= 70
    assert max(read.values()) <= 5


def test_every_note_is_read_as_one_of_few_facts(video_classification: Any) -> None:
    """Whoever adds a note says what it tells, and of which concern."""
    path = video_classification.folder / "readings.json"
    readings: Mapping[str, Mapping[str, Any]] = json.loads(path.read_text("utf-8"))

    assert len(readings) >= 100
    for said in readings.values():
        assert said["about"] in CONCERNS
        assert said["says"] in {"there", "unsure", "not there"}
        assert said["watched"] in {"all", "part", "nothing"}
        assert said.get("purpose") in {None, "reports", "teaches", "acts"}
        assert said.get("beside") in {None, *CONCERNS}
        assert said.get("beside") != said["about"]
        assert {"purpose"} <= set(said) or "told" not in said
        assert {"beside"} <= set(said) or "where" not in said


# --- misreadings -----------------------------------------------------------------------------

ONE_PAIR = dict.fromkeys(CONCERNS, (60, 90))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("LIMITS", ONE_PAIR, id="21 one pair of limits"),
        pytest.param("CALM_FLASHES", 5, id="57 five flashes"),
        pytest.param("CONTAINERS", {"mp4", "webm", "avi"}, id="11 old containers"),
        pytest.param("ASKED_FOR_NEWSROOMS", set(), id="28 newsrooms like anybody"),
        pytest.param("IN_WORDS", set(), id="33 English for words"),
        pytest.param("_serves", lambda *_: True, id="41 a note that was not watched"),
        pytest.param("_purpose", lambda said: said.get("purpose"), id="49 what was only told"),
        pytest.param("_counts_beside", lambda said: "beside" in said, id="50 without a time"),
        pytest.param("_old", lambda *_: False, id="19 no record is old"),
    ],
)
def test_who_works_by_something_else_loses_tasks(
    video_classification: Any,
    tools_of: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: Any,
) -> None:
    """By a repealed article, or without one that holds."""
    domain = video_classification
    monkeypatch.setitem(domain.decide.__globals__, name, value)

    def answer(row: Mapping[str, Any]) -> object:
        try:
            return domain.decide(domain.inputs(row), tools_of(domain, row).call)
        except ToolError as failed:
            return failed

    lost = [row for row in domain.rows if answer(row) != domain.expected(row)]

    assert len(lost) >= 2
