"""Tables whose rows cannot become tasks."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from campaign.folders.breakage import Breakage, clear, keys, replaced, write

HEADER = "sample_id,reading,grade"
GOOD = "T_01,50,retest"

ROWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "is empty": ("", ()),
    "is blank": ("\n\n\n", ()),
    "has a header only": (f"{HEADER}\n", ("row 1",)),
    "has a column twice": (f"{HEADER},grade\n{GOOD},pass\n", ("row 1", "'grade'")),
    "has a nameless column": (f"{HEADER},\n{GOOD},x\n", ("row 1",)),
    "has a blank name": (f"{HEADER},   \n{GOOD},x\n", ("row 1",)),
    "has semicolons": (f"{HEADER}\n{GOOD}\n".replace(",", ";"), ("semicolons",)),
    "has tabs": (f"{HEADER}\n{GOOD}\n".replace(",", "\t"), ("tabs",)),
    "has bars": (f"{HEADER}\n{GOOD}\n".replace(",", "|"), ("bars",)),
    "has a row with a cell too few": (f"{HEADER}\n{GOOD}\nT_02,10\n", ("row 3",)),
    "has a row with a cell too many": (f"{HEADER}\n{GOOD}\nT_02,10,fail,x\n", ("row 3",)),
    "has a quote that is never closed": (f'{HEADER}\n{GOOD}\nT_02,"10,fail\n', ("row 3",)),
    "has a quote inside a cell": (f'{HEADER}\n{GOOD}\nT_02,"1"0,fail\n', ("row 3",)),
    "has a NUL": (f"{HEADER}\n{GOOD}\nT_02,\0,fail\n", ("row 3", "NUL")),
    "has an id twice": (f"{HEADER}\n{GOOD}\nT_02,10,fail\nT_02,10,fail\n", ("row 4",)),
    "has an id that is blank": (f"{HEADER}\n{GOOD}\nT_02,10,fail\n  ,10,fail\n", ("row 4",)),
    "has an id of a line separator": (
        f"{HEADER}\n{GOOD}\nT_02,10,fail\n\u2028,10,fail\n",
        ("row 4", "'sample_id'"),
    ),
    "has the same row twice": (f"{HEADER}\n{GOOD}\n{GOOD}\n", ("row 3",)),
    "has a label that is no label": (f"{HEADER}\n{GOOD}\nT_02,10,good\n", ("row 3", "'grade'")),
    "has a cell of 200,000 letters": (
        f"{HEADER}\n{GOOD}\nT_02,{'x' * 200_000},fail\n",
        ("row 3", "characters"),
    ),
    "is JSON": ('[{"sample_id": "T_01"}]', ()),
    "is a page of HTML": ("<html><body>404</body></html>", ()),
    "is a spreadsheet": ("PK\x03\x04\x14\x00\x06\x00", ("NUL",)),
    "lacks the answers": ("sample_id,reading\nT_01,50\n", ("'grade'",)),
    "lacks the inputs": ("reading,grade\n50,retest\n", ("'sample_id'",)),
    "lacks what a tool serves": ("sample_id,grade\nT_01,retest\n", ("'reading'",)),
    "has another case in its header": ("Sample_ID,Reading,Grade\nT_01,50,retest\n", ()),
    "has a million columns": (",".join(f"c{n}" for n in range(100_000)) + "\n", ()),
    "has a column with a hostile name": (
        'sample_id,reading,"gr\x1b[31made\n::error::x"\nT_01,50,retest\n',
        ("'grade'",),
    ),
}
"""What is in `data.csv`, and what the error says besides the file."""


def _reported(name: str, content: str, says: tuple[str, ...]) -> Breakage:
    # A column that is missing is a fault of the metadata that name it.
    file = () if name.startswith(("lacks", "has semi", "has tabs", "has bars")) else ("data.csv",)
    return Breakage(name=f"data.csv {name}", apply=write("data.csv", content), says=(*file, *says))


def _cells(name: str, column: str, cells: list[str], *says: str, **changes: Any) -> Breakage:
    """A table with one column more, and metadata that say what it is."""

    def apply(folder: Path, random: Random) -> None:
        lines = [f"T_{number:02},50,retest,{cell}" for number, cell in enumerate(cells, 1)]
        (folder / "data.csv").write_text("\n".join([f"{HEADER},{column}", *lines]) + "\n", "utf-8")
        keys(**changes)(folder, random)

    return Breakage(name=f"cells: {name}", apply=apply, says=("data.csv", *says))


_LIST = "[" * 5_000 + "]" * 5_000

CELLS = [
    _cells(
        "a number is a word",
        "weight",
        ["1", "two"],
        "row 3",
        "'weight'",
        types={"weight": "number"},
    ),
    _cells(
        "a number is beyond all",
        "weight",
        ["1", "1e999"],
        "row 3",
        "'weight'",
        types={"weight": "number"},
    ),
    _cells(
        "a number of 1,000 digits",
        "weight",
        ["1", "9" * 1_000],
        "row 3",
        "'weight'",
        types={"weight": "number"},
    ),
    _cells(
        "a truth value is a word",
        "cold",
        ["true", "maybe"],
        "row 3",
        "'cold'",
        types={"cold": "boolean"},
    ),
    _cells(
        "a list is a word", "parts", ["[]", "none"], "row 3", "'parts'", types={"parts": "list"}
    ),
    _cells(
        "a list is nested 5,000 times",
        "parts",
        ["[]", _LIST],
        "row 3",
        "'parts'",
        types={"parts": "list"},
    ),
    _cells(
        "a list holds a call",
        "parts",
        ["[]", "[print(1)]"],
        "row 3",
        "'parts'",
        types={"parts": "list"},
    ),
    _cells(
        "a list holds bytes", "parts", ["[]", "[b'x']"], "row 3", "'parts'", types={"parts": "list"}
    ),
    _cells(
        "further answers are a word",
        "also",
        ["", "fail"],
        "row 3",
        "'also'",
        acceptable_column="also",
    ),
    _cells(
        "further answers name a field that is not there",
        "also",
        ["", '"[{""mark"": 1}]"'],
        "row 3",
        "'also'",
        acceptable_column="also",
    ),
    _cells("an id is empty", "key", ["a", ""], "row 3", "'key'", id_column="key"),
    _cells("an id is blank", "key", ["a", "  "], "row 3", "'key'", id_column="key"),
    _cells("an id stands twice", "key", ["a", "b", "a"], "row 4", "'key'", id_column="key"),
]


def _jsonl(name: str, content: str, *says: str, **changes: Any) -> Breakage:
    def apply(folder: Path, random: Random) -> None:
        keys(**changes)(folder, random)
        clear(folder / "data.csv")
        (folder / "tasks.jsonl").write_text(content, encoding="utf-8")

    return Breakage(name=f"tasks.jsonl {name}", apply=apply, says=("tasks.jsonl", *says))


def _line(**changes: Any) -> str:
    return json.dumps({"sample_id": "T_01", "reading": 50, "grade": "retest"} | changes) + "\n"


_SECOND = {"sample_id": "T_02"}

LINES = [
    _jsonl("is empty", ""),
    _jsonl("is a list", "[1, 2]\n", "row 1"),
    _jsonl("is one document over many lines", '{\n"sample_id": "T_01"\n}\n', "row 1"),
    _jsonl("has an object without keys", "{}\n", "row 1"),
    _jsonl("has a broken line", _line() + '{"sample_id": \n', "row 2"),
    _jsonl("has a line without a key", _line() + '{"sample_id": "T_02"}\n', "row 2"),
    _jsonl("has a line with a key more", _line() + _line(**_SECOND, more=1), "row 2", "'more'"),
    _jsonl("has a key twice", _line() + '{"sample_id": "T_02", "sample_id": "T_03"}\n', "row 2"),
    _jsonl("has NaN", _line() + '{"sample_id": NaN}\n', "row 2"),
    _jsonl("has a number of 5,000 digits", _line() + '{"reading": ' + "9" * 5_000 + "}\n", "row 2"),
    _jsonl(
        "has an id that is an object",
        _line() + _line(sample_id={}),
        "row 2",
        "'sample_id'",
        id_column="sample_id",
    ),
    _jsonl(
        "has an id that is null",
        _line() + _line(sample_id=None),
        "row 2",
        "'sample_id'",
        id_column="sample_id",
    ),
    _jsonl(
        "has an id that is true",
        _line() + _line(sample_id=True),
        "row 2",
        "'sample_id'",
        id_column="sample_id",
    ),
    _jsonl("is nested 50,000 times", _line() + "[" * 50_000 + "\n", "row 2"),
    _jsonl("has a label that is an object", _line() + _line(**_SECOND, grade={}), "row 2"),
    _jsonl("has half a surrogate pair", _line() + '{"sample_id": "\\udc00"}\n', "row 2"),
    _jsonl("has marks of a merge", f"<<<<<<< HEAD\n{_line()}=======\n>>>>>>> x\n", "row 1"),
]

HOSTILE = (
    "../../etc/passwd",
    "a/b",
    "x\ny",
    "--exitfirst",
    "\x1b[2J",
    "::error::x",
    "%0A",
    "'; rm -rf /",
    "*",
    "T_01[0]",
    "a::b",
    "a" * 3_000,
    "\u202eleft",
    "\U0001d57f",
    "con",
    ".",
    "..",
    "a\rb",
    "$(id)",
    "\x7f",
    "[x]",
    "@",
    "a\u2028b",
)
"""Names of tasks that are odd and may be used."""


def _hostile_ids(folder: Path, random: Random) -> None:
    names = list(HOSTILE)
    random.shuffle(names)
    rows = [f'"{name}",50,retest' for name in names]
    text = "\n".join([HEADER, *rows]) + "\n"
    (folder / "data.csv").write_text(text, encoding="utf-8", newline="")


BREAKAGES: list[Breakage] = [
    *(_reported(name, content, says) for name, (content, says) in ROWS.items()),
    *CELLS,
    *LINES,
    Breakage(name="data.csv has hostile ids", apply=_hostile_ids, verdict="sound", listed="usable"),
    replaced(
        "data.csv in Latin-1", "data.csv", f"{HEADER}\nT_ß,50,retest\n".encode("latin-1"), "row 2"
    ),
]
