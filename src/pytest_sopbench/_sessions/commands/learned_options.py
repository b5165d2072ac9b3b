"""Options that a session learns with its first run, of which parts of a session may differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from pytest_sopbench._core.gates.judge_report import (
    FIELDS,
    JudgedField,
    judged_fields_to_json,
    read_judge_report,
)
from pytest_sopbench._core.model.usage import add_usage, listed, read_usage, usage_to_json
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.variants.findings import joined
from pytest_sopbench._sessions.header.options import SessionOptions, options_to_json


def unlike(
    one: SessionOptions, other: SessionOptions
) -> tuple[Mapping[str, JsonValue], Mapping[str, JsonValue]]:
    """Return in which options two shards differ that one session cannot differ in.

    What a shard without a run could not learn is left out, and so are the prices of its runs, and
    what came of its model judge.
    """
    mine, its = _comparable(one, other), _comparable(other, one)
    same = {name for name in (*mine, *its) if mine.get(name) == its.get(name)}
    return (
        {name: value for name, value in mine.items() if name not in same},
        {name: value for name, value in its.items() if name not in same},
    )


def _comparable(options: SessionOptions, other: SessionOptions) -> Mapping[str, JsonValue]:
    options = replace(options, prices="", judge=None, doubtful={}, variants={})
    if not other.prompts:
        options = replace(options, prompts={})
    return options_to_json(options if other.setups else replace(options, setups={}))


def learned(whole: SessionOptions, parts: Sequence[SessionOptions]) -> SessionOptions:
    """Return options with what shards have learned of agents and prices; all prices are named.

    A judge that was doubtful in one of them is so in all together, and what it consumed adds up.
    """
    return replace(
        whole,
        prompts=_first(one.prompts for one in parts),
        setups=_first(one.setups for one in parts),
        prices=listed(*(one.prices for one in parts)) or "",
        variants=joined(one.variants for one in parts),
        doubtful=_doubtful(parts),
        judge=_judge(parts),
    )


def _first(told: Iterable[Mapping[str, JsonValue]]) -> Mapping[str, JsonValue]:
    nothing: Mapping[str, JsonValue] = {}
    return next(filter(None, told), nothing)


def _doubtful(parts: Iterable[SessionOptions]) -> Mapping[str, Mapping[str, str]]:
    doubtful: dict[str, dict[str, str]] = {}
    for one in parts:
        for domain, fields in one.doubtful.items():
            doubtful[domain] = {**fields, **doubtful.get(domain, {})}
    return doubtful


def _judge(parts: Sequence[SessionOptions]) -> Mapping[str, JsonValue] | None:
    judges = [one.judge for one in parts if one.judge is not None]
    if not judges:
        return None
    counts: Counter[str] = Counter()
    for judge in judges:
        counts.update(dict(_counts(judge)))
    usages = (read_usage(one.get("usage")) for one in judges)
    return {
        **counts,
        "usage": usage_to_json(reduce(add_usage, usages)),
        FIELDS: judged_fields_to_json(_judged_fields(parts)),
    }


def _judged_fields(parts: Sequence[SessionOptions]) -> Iterable[JudgedField]:
    found: dict[tuple[str, str], JudgedField] = {}
    for part in parts:
        report = read_judge_report(part.judge, part.doubtful)
        for one in report.fields if report else ():
            known = found.get((one.domain, one.field))
            if known is None or (one.doubt and not known.doubt):
                found[one.domain, one.field] = one
    return found.values()


def _counts(judge: Mapping[str, JsonValue]) -> Iterator[tuple[str, int]]:
    for name, one in judge.items():
        if isinstance(one, int):
            yield name, one
