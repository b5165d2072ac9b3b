"""Options that a session learns with its first run, of which parts of a session may differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from pytest_sopbench._sessions.header.options import DOUBTFUL, JUDGE, VARIANTS
from pytest_sopbench._sessions.header.setups import LATE, PRICES
from pytest_sopbench._sessions.reading.reader import SavedSession


def unlike(
    one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]
) -> tuple[Mapping[str, JsonValue], Mapping[str, JsonValue]]:
    """Return in which options two shards differ that one session cannot differ in.

    What a shard without a run could not learn is left out, and so are the prices of its runs, and
    what came of its model judge.
    """
    unknown = {
        PRICES,
        JUDGE,
        DOUBTFUL,
        VARIANTS,
        *(name for name in LATE if name not in one or name not in other),
    }
    same = {name for name in (*one, *other) if one.get(name) == other.get(name)}
    return (
        {name: value for name, value in one.items() if name not in unknown | same},
        {name: value for name, value in other.items() if name not in unknown | same},
    )


def learned(parts: Sequence[SavedSession]) -> Mapping[str, JsonValue]:
    """Return what shards have learned of agents and prices; several prices are all named.

    A judge that was doubtful in one of them is so in all together, and what it consumed adds up.
    """
    told = {
        name: value
        for one in reversed(parts)
        for name, value in one.header.options.items()
        if name in LATE
    }
    prices = listed(*(str(one.header.options.get(PRICES) or "") for one in parts))
    variants = joined(one.header.options.get(VARIANTS) for one in parts)
    return {
        **told,
        **({PRICES: prices} if prices else {}),
        **({VARIANTS: variants} if variants else {}),
        **_judged(parts),
    }


def _judged(parts: Sequence[SavedSession]) -> Mapping[str, JsonValue]:
    doubtful: dict[str, dict[str, str]] = {}
    for one in parts:
        for domain, fields in one.header.asked.doubtful.items():
            doubtful[domain] = {**fields, **doubtful.get(domain, {})}
    told = [one.header.options.get(JUDGE) for one in parts]
    judges = [one for one in told if isinstance(one, Mapping)]
    found: dict[str, JsonValue] = {}
    if doubtful:
        found[DOUBTFUL] = {domain: {**fields} for domain, fields in doubtful.items()}
    if judges:
        usages = (read_usage(one.get("usage")) for one in judges)
        counts: Counter[str] = Counter()
        for judge in judges:
            counts.update(dict(_counts(judge)))
        found[JUDGE] = {
            **counts,
            "usage": usage_to_json(reduce(add_usage, usages)),
            FIELDS: judged_fields_to_json(_judged_fields(parts)),
        }
    return found


def _judged_fields(parts: Sequence[SavedSession]) -> Iterable[JudgedField]:
    found: dict[tuple[str, str], JudgedField] = {}
    for part in parts:
        report = read_judge_report(part.header.options.get(JUDGE), part.header.asked.doubtful)
        for one in report.fields if report else ():
            known = found.get((one.domain, one.field))
            if known is None or (one.doubt and not known.doubt):
                found[one.domain, one.field] = one
    return found.values()


def _counts(judge: Mapping[str, JsonValue]) -> Iterator[tuple[str, int]]:
    for name, one in judge.items():
        if isinstance(one, int):
            yield name, one
