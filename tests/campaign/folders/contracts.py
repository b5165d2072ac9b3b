"""Contracts of which one clause cannot be used."""

from __future__ import annotations

from typing import Any

from campaign.folders.breakage import Breakage, described, keys, sound

CONTRACTS: dict[str, Any] = {
    "is a list": [],
    "is a text": "measure first",
    "is a number": 1,
    "is false": False,
    "is empty": {},
    "has rules that are an object": {"rules": {}},
    "has rules that are null": {"rules": None},
    "has a key beside the rules": {"rules": [], "version": 1},
}
"""Values of the key `contract` as a whole."""


def when(**condition: Any) -> dict[str, Any]:
    """A rule with a condition."""
    return {"id": "r", "forbids": ["measure"], "when": condition}


def argument(**keys_of: Any) -> dict[str, Any]:
    """A rule about an argument."""
    return {"id": "r", "arguments": {"tool": "measure", "argument": "sample_id"} | keys_of}


def _nested(times: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"input": "sample_id", "equals": "T_01"}
    for _ in range(times):
        inner = {"not": inner}
    return inner


RULES: dict[str, Any] = {
    "is a text": "measure first",
    "is null": None,
    "is a list": ["measure"],
    "is empty": {},
    "has no id": {"forbids": ["measure"]},
    "has an empty id": {"id": "", "forbids": ["measure"]},
    "has a number for an id": {"id": 1, "forbids": ["measure"]},
    "demands nothing": {"id": "r"},
    "demands two things": {"id": "r", "forbids": ["measure"], "requires": {"all_of": ["measure"]}},
    "has an unknown key": {"id": "r", "forbid": ["measure"]},
    "has a number for a clause": {"id": "r", "forbids": ["measure"], "clause": 4.2},
    "has an unknown severity": {"id": "r", "forbids": ["measure"], "severity": "high"},
    "has true for a severity": {"id": "r", "forbids": ["measure"], "severity": True},
    "requires nothing": {"id": "r", "requires": {}},
    "requires empty lists": {"id": "r", "requires": {"all_of": []}},
    "requires a list": {"id": "r", "requires": ["measure"]},
    "requires a text": {"id": "r", "requires": {"all_of": "measure"}},
    "requires an unknown tool": {"id": "r", "requires": {"any_of": ["measures"]}},
    "requires a tool twice": {"id": "r", "requires": {"all_of": ["measure", "measure"]}},
    "requires in an unknown way": {"id": "r", "requires": {"some_of": ["measure"]}},
    "forbids nothing": {"id": "r", "forbids": []},
    "forbids a text": {"id": "r", "forbids": "measure"},
    "forbids a number": {"id": "r", "forbids": [1]},
    "forbids an unknown tool": {"id": "r", "forbids": ["weigh"]},
    "bounds nothing": {"id": "r", "at_most": {}},
    "bounds by zero": {"id": "r", "at_most": {"measure": 0}},
    "bounds by a text": {"id": "r", "at_most": {"measure": "1"}},
    "bounds by half a call": {"id": "r", "at_most": {"measure": 1.5}},
    "bounds by true": {"id": "r", "at_most": {"measure": True}},
    "bounds a list": {"id": "r", "at_most": ["measure"]},
    "bounds an unknown tool": {"id": "r", "at_most": {"weigh": 1}},
    "orders one tool": {"id": "r", "before": ["measure"]},
    "orders a text": {"id": "r", "before": "measure"},
    "orders a tool before itself": {"id": "r", "before": ["measure", "measure"]},
    "orders an unknown tool": {"id": "r", "before": ["measure", "weigh"]},
    "orders an empty list": {"id": "r", "before": [[], "measure"]},
    "orders lists in lists": {"id": "r", "before": [[["measure"]], "measure"]},
    "asks approval of nothing": {"id": "r", "after_approval": []},
    "asks approval of an unknown tool": {"id": "r", "after_approval": ["weigh"]},
    "asks approval of an unknown tool and step": {"id": "r", "after_approval": {"weigh": "s"}},
    "asks approval by a number": {"id": "r", "after_approval": {"measure": 1}},
    "asks approval by no step": {"id": "r", "after_approval": {"measure": ""}},
    "asks approval in a text": {"id": "r", "after_approval": "measure"},
    "has arguments in a list": {"id": "r", "arguments": []},
    "has arguments of no tool": {"id": "r", "arguments": {"argument": "sample_id"}},
    "has arguments of an unknown tool": argument(tool="weigh", equals_input="sample_id"),
    "does not say what an argument is": argument(),
    "says twice what an argument is": argument(equals_input="sample_id", schema={}),
    "compares with an unknown input": argument(equals_input="reading"),
    "compares with an unknown result": argument(equals_result="weigh"),
    "compares with an unknown answer": argument(equals_answer="reading"),
    "compares with an unknown expected answer": argument(equals_expected="mark"),
    "compares with an unknown column": argument(equals_column="mark"),
    "compares with an empty name": argument(equals_input=""),
    "compares with a number": argument(equals_input=1),
    "has a schema of an unknown type": argument(schema={"type": "str"}),
    "has a schema that is a text": argument(schema="string"),
    "has a schema that is fetched": argument(schema={"$ref": "https://example.invalid/s.json"}),
    "has a schema that refers to nothing": argument(schema={"$ref": "#/$defs/none"}),
    "has a schema with a wrong pattern": argument(schema={"pattern": "("}),
    "has a condition that is a text": when() | {"when": "reading > 70"},
    "has a condition that is a list": when() | {"when": []},
    "has a condition on nothing": when(),
    "has a condition on two columns": when(input="sample_id", result="reading", equals=1),
    "has a condition that compares with nothing": when(input="sample_id"),
    "has a condition on an unknown input": when(input="batch", equals=1),
    "has a condition on an unknown result": when(result="weight", equals=1),
    "has a condition on a result of an unknown tool": when(result="weigh.reading", equals=1),
    "has a condition on the answer": when(result="grade", equals="pass"),
    "has a condition with an unknown key": when(input="sample_id", equal=1),
    "has a condition with an empty list": when(input="sample_id", **{"in": []}),
    "has a condition with a text for a list": when(input="sample_id", **{"in": "T_01"}),
    "has a condition with a list for a bound": when(result="reading", at_least=[1]),
    "has a condition with present as a text": when(result="reading", present="yes"),
    "has a condition with an empty pattern": when(input="sample_id", matches=""),
    "has a condition with a broken pattern": when(input="sample_id", matches="("),
    "has a condition that looks around": when(input="sample_id", matches="(?=T)T.*"),
    "has a condition that refers back": when(input="sample_id", matches=r"(T)_\1"),
    "has a condition that repeats too often": when(input="sample_id", matches="a{99999999999}"),
    "has a condition that nests too deeply": when(
        input="sample_id", matches="(" * 2_000 + ")" * 2_000
    ),
    "has a condition that would explode and is too large": when(
        input="sample_id", matches="((a{500}){500}){500}"
    ),
    "has conditions in an empty list": when(all=[]),
    "has conditions in an object": when(any={"input": "sample_id"}),
    "has a condition beside others": when(all=[{"input": "sample_id", "equals": 1}], equals=1),
    "has an inner condition on nothing": when(all=[{"not": {}}]),
    "has 80 conditions in one another": _nested(80) | {"id": "r"},
}  # fmt: skip
"""Rules of which one key cannot be used."""


def _rule(name: str, rule: Any) -> Breakage:
    return described(f"a rule {name}", "contract", contract={"rules": [rule]})


def _row_of_text(name: str, rule: dict[str, Any]) -> Breakage:
    """The rule is sound, and a row that it cannot read is at fault."""
    changes = keys(contract={"rules": [rule]})
    return Breakage(name=f"a rule {name}", apply=changes, says=("data.csv", "row 2", "'r'"))


_TWICE = [{"id": "r", "forbids": ["measure"]}, {"id": "r", "at_most": {"measure": 1}}]
_EXPLOSIVE = when(input="sample_id", matches="(a+)+b|(T+)+_x")

BREAKAGES: list[Breakage] = [
    *(
        described(f"the contract {name}", "contract", contract=one)
        for name, one in CONTRACTS.items()
    ),
    *(_rule(name, rule) for name, rule in RULES.items()),
    described("two rules with one id", "'r'", contract={"rules": _TWICE}),
    _row_of_text("bounds by a word", when(result="reading", at_least="much")),
    _row_of_text("asks a number of a text", when(input="sample_id", above=5)),
    sound("a rule that explodes elsewhere", keys(contract={"rules": [_EXPLOSIVE]})),
    sound("a contract without rules", keys(contract={"rules": []})),
]
