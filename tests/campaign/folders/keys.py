"""Metadata with keys of wrong types, unknown ones, and such as contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from campaign.folders.breakage import Breakage, Drop, clear, described, keys, sound

WRONG: Mapping[str, Mapping[str, Any]] = {
    "name": {
        "a list": ["lab"],
        "null": None,
        "empty": "",
        "a path": "../lab",
        "with a newline": "a\nb",
        "with a colour": "\x1b[31mlab",
        "of 10,000 letters": "a" * 10_000 + "!",
        "an option": "--help",
    },
    "output_columns": {
        "a text": "grade",
        "empty": [],
        "numbers": [1, 2],
        "null": None,
        "an object": {"grade": 1},
        "twice the same": ["grade", "grade"],
        "lists": [["grade"]],
        "a column that is not there": ["mark"],
        "a number of 4,000 digits": [10**4_000],
    },
    "input_columns": {
        "a text": "sample_id",
        "a number": 5,
        "objects": [{}],
        "twice the same": ["sample_id", "sample_id"],
        "a column that is not there": ["sample"],
        "the answer": ["sample_id", "grade"],
        "null in it": [None],
    },
    "title": {"a list": [], "an object": {}, "true": True},
    "description": {"a list": ["a"], "an object": {"a": 1}},
    "industry": {"a list": [1]},
    "licence": {"an object": {"name": "MIT"}},
    "version": {"a list": [1, 0]},
    "id_column": {
        "a list": ["sample_id"],
        "a column that is not there": "number",
        "the answer": "grade",
        "an object": {},
    },
    "columns": {
        "a list": ["grade"],
        "a text": "grade",
        "numbers": {"grade": {}},
        "a header that is not there": {"grade": "Grade"},
        "two names for one header": {"mark": "grade", "note": "grade"},
        "a name that is taken": {"reading": "grade"},
    },
    "private_columns": {
        "a text": "reading",
        "a column that is not there": ["secret"],
        "a number": 1,
    },
    "tags_column": {
        "a list": ["reading"],
        "a column that is not there": "tags",
        "the answer": "grade",
        "an input": "sample_id",
    },
    "acceptable_column": {
        "a list": [],
        "a column that is not there": "also",
        "the answer": "grade",
        "an input": "sample_id",
    },
    "known_disagreement_column": {
        "a number in a list": [5],
        "a column that is not there": "why",
        "an input": "sample_id",
    },
    "types": {
        "a list": ["number"],
        "an unknown type": {"reading": "integer"},
        "a type of the answer": {"grade": "text"},
        "a column that is not there": {"weight": "text"},
    },
    "reject_bad_arguments": {"a text": "yes", "a number": 1, "null": None, "a list": []},
    "outputs": {
        "a list": ["grade"],
        "a text": "enum",
        "null": None,
        "a field that is not there": {"mark": {}},
        "a text for a field": {"grade": "enum"},
        "an unknown type": {"grade": {"type": "label"}},
        "an unknown key": {"grade": {"kind": "enum"}},
        "a value twice": {"grade": {"type": "enum", "values": ["pass", "pass"]}},
        "values of a number": {"grade": {"type": "number", "values": ["1"]}},
        "a tolerance of text": {"grade": {"tolerance": 0.5}},
        "a tolerance below zero": {"grade": {"type": "number", "tolerance": -1}},
        "a tolerance that is a text": {"grade": {"type": "number", "tolerance": "much"}},
        "a comparison that is unknown": {"grade": {"compare": "fuzzy"}},
        "ordered as a text": {"grade": {"type": "list", "ordered": "yes"}},
        "aliases as a list": {"grade": {"aliases": ["ok"]}},
        "an alias of nothing": {
            "grade": {
                "type": "enum",
                "values": ["pass", "retest", "fail"],
                "aliases": {"ok": "fine"},
            }
        },
        "an alias that is a value": {
            "grade": {
                "type": "enum",
                "values": ["pass", "retest", "fail"],
                "aliases": {"fail": "pass"},
            }
        },
    },
    "tools": {
        "a list": ["measure"],
        "a text": "measure",
        "null": None,
        "a tool without a spec": {"weigh": {"returns": ["reading"]}},
        "a text for a tool": {"measure": "reading"},
        "nothing to serve": {"measure": {"key": ["sample_id"]}},
        "both a result and columns": {"measure": {"returns": ["reading"], "result": 1}},
        "the answer": {"measure": {"returns": ["reading", "grade"]}},
        "a key that is the answer": {"measure": {"key": ["grade"], "returns": ["reading"]}},
        "a column that is not there": {"measure": {"returns": ["weight"]}},
        "a key that is no parameter": {"measure": {"key": ["reading"], "returns": ["reading"]}},
        "a text for columns": {"measure": {"returns": "reading"}},
        "an unknown word for missing": {"measure": {"returns": ["reading"], "missing": "skip"}},
        "an unknown key": {"measure": {"returns": ["reading"], "cache": True}},
    },
}
"""Values that a key must not have."""


UNFIT: Mapping[str, Mapping[str, Any]] = {
    "an id that stands twice": {"id_column": "reading"},
    "the only id is private": {"private_columns": ["sample_id"]},
    "a number is a truth value": {"types": {"reading": "boolean"}},
    "a number is a list": {"types": {"reading": "list"}},
    "an id is a number": {"types": {"sample_id": "number"}},
    "a label is no value": {"outputs": {"grade": {"type": "enum", "values": ["pass", "fail"]}}},
    "a label is a number": {"outputs": {"grade": {"type": "integer"}}},
    "a label is a date": {"outputs": {"grade": {"type": "date"}}},
    "a label is a truth value": {"outputs": {"grade": {"type": "boolean"}}},
}
"""What the metadata say, and the rows do not keep."""


def _wrong() -> list[Breakage]:
    return [
        described(f"metadata.json: {key} is {kind}", **{key: value})
        for key, kinds in WRONG.items()
        for kind, value in kinds.items()
    ]


def _slips() -> list[Breakage]:
    slips = {
        "contracts": {"rules": []},
        "rules": [],
        "output": {"grade": {}},
        "tool": {},
        "private_colums": ["reading"],
        "input_colums": ["sample_id"],
        "acceptable_columns": "reading",
        "type": {},
        "reject_bad_argument": True,
    }
    return [
        described(f"metadata.json: the slip {key}", repr(key), **{key: value})
        for key, value in slips.items()
    ]


def _toml(text: str) -> Callable[[Path, Random], None]:
    def apply(folder: Path, _random: Random) -> None:
        clear(folder / "metadata.json")
        (folder / "domain.toml").write_text(text, encoding="utf-8")

    return apply


_TOML = 'name = "lab"\noutput_columns = ["grade"]\ninput_columns = ["sample_id"]\n'

TOMLS: dict[str, str] = {
    "is empty": "",
    "is no TOML": "name: lab\n",
    "has a key twice": _TOML + 'name = "other"\n',
    "has a name that is a date": _TOML.replace('"lab"', "2026-01-01"),
    "has a number of 5,000 digits": _TOML + f"title = {'9' * 5_000}\n",
    "is nested 2,000 times": _TOML + f"contract = {'[' * 2_000}{']' * 2_000}\n",
    "has a result that is no number": _TOML + "[tools.measure]\nresult = nan\n",
    "has a contract that is a text": _TOML + 'contract = "none"\n',
    "has an input that is a date": _TOML.replace('["sample_id"]', "[2026-01-01]"),
    "has marks of a merge": f"<<<<<<< HEAD\n{_TOML}=======\n{_TOML}>>>>>>> theirs\n",
}


def _published(**changes: Any) -> Callable[[Path, Random], None]:
    def apply(folder: Path, random: Random) -> None:
        (folder / "data.csv").rename(folder / "test_set_with_outputs.csv")
        keys(**changes)(folder, random)

    return apply


BREAKAGES: list[Breakage] = [
    *_wrong(),
    *_slips(),
    *(
        Breakage(name=f"metadata.json: {name}", apply=keys(**changes), says=("data.csv", "row "))
        for name, changes in UNFIT.items()
    ),
    *(
        described(f"metadata.json: no {key}", key, **{key: Drop})
        for key in ("name", "output_columns", "input_columns")
    ),
    sound("metadata.json: 10,000 unknown keys", keys(**{f"key_{n}": n for n in range(10_000)})),
    described("metadata.json: a key of a million letters", input_columns=["x" * 1_000_000]),
    described(
        "metadata.json: the same column 100,000 times", input_columns=["sample_id"] * 100_000
    ),
    sound("metadata.json: keys of somebody else", keys(x_owner="we", colour="red")),
    sound(
        "metadata.json: a title with colours", keys(title="\x1b[31mred\x1b]0;title\x07\n::error::x")
    ),
    described("metadata.json: a key of documents without a schema", ignored_paths=[]),
    *(
        Breakage(name=f"domain.toml {kind}", apply=_toml(text), says=("domain.toml",))
        for kind, text in TOMLS.items()
    ),
    Breakage(
        name="published: no output_columns",
        apply=_published(output_columns=Drop),
        says=("metadata.json", "output_columns"),
    ),
    Breakage(
        name="published: outputs that are not there",
        apply=_published(output_columns=["x"]),
        says=("metadata.json",),
    ),
    sound("published: a name that cannot be one", _published(name="my lab!", description=[1])),
]
