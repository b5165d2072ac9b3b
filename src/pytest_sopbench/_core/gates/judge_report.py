"""What a saved session says of its model judge: how far it is calibrated, and what it consumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Usage
from pytest_sopbench._core.model.usage import read_usage, usage_to_json
from pytest_sopbench._core.values.json import JsonValue

from .calibration import OTHER_JUDGE, Calibration, Doubtful

FIELDS = "fields"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedField:
    """How far the judge of one output field agrees with people.

    `agreement` and `kappa` are unknown where there are no labels; `doubt` says why no gate may
    rest on the judge, or is empty.
    """

    domain: str
    field: str
    labels: int = 0
    agreement: float | None = None
    kappa: float | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """What the judge of a session came to; `usage` is its own, and none of the agents'."""

    fields: tuple[JudgedField, ...] = ()
    asked: int = 0
    failed: int = 0
    kept: int = 0
    repeated: int = 0
    usage: Usage = UNKNOWN_USAGE


def judged_field(domain: str, field: str, calibration: Calibration | None, why: str) -> JudgedField:
    """Return what is said of a field; the agreement of another judge says nothing of this one."""
    if calibration is None or why == OTHER_JUDGE:
        return JudgedField(domain=domain, field=field, doubt=why)
    table = calibration.agreement
    return JudgedField(
        domain=domain,
        field=field,
        labels=table.cases,
        agreement=table.rate,
        kappa=table.kappa,
        doubt=why,
    )


def judged_fields_to_json(fields: Iterable[JudgedField]) -> list[JsonValue]:
    """Return them as a session keeps them."""
    return [asdict(one) for one in fields]


def judge_report_to_json(report: JudgeReport) -> dict[str, JsonValue]:
    """Return the report for a program; unknown is `null`."""
    return {
        "asked": report.asked,
        "failed": report.failed,
        "kept": report.kept,
        "repeated": report.repeated,
        "usage": usage_to_json(report.usage),
        FIELDS: judged_fields_to_json(report.fields),
    }


def read_judge_report(told: JsonValue, doubtful: Doubtful) -> JudgeReport | None:
    """Read what a session keeps of its judge; `None` where it has none.

    What means nothing is passed over, but for a doubt, which is never lost.
    """
    if not isinstance(told, Mapping) and not doubtful:
        return None
    kept: Mapping[str, JsonValue] = told if isinstance(told, Mapping) else {}
    fields = {(one.domain, one.field): one for one in _fields(kept.get(FIELDS))}
    for domain, doubts in doubtful.items():
        for name, why in doubts.items():
            if not fields.get((domain, name), JudgedField(domain=domain, field=name)).doubt:
                fields[domain, name] = JudgedField(domain=domain, field=name, doubt=why)
    return JudgeReport(
        fields=tuple(fields.values()),
        asked=_count(kept.get("asked")),
        failed=_count(kept.get("failed")),
        kept=_count(kept.get("kept")),
        repeated=_count(kept.get("repeated")),
        usage=read_usage(kept.get("usage")),
    )


def _fields(told: JsonValue) -> Iterable[JudgedField]:
    for one in told if isinstance(told, list) else ():
        if isinstance(one, Mapping) and one.get("domain") and one.get("field"):
            yield _field(one)


def _field(told: Mapping[str, Any]) -> JudgedField:
    return JudgedField(
        domain=str(told["domain"]),
        field=str(told["field"]),
        labels=_count(told.get("labels")),
        agreement=_number(told.get("agreement")),
        kappa=_number(told.get("kappa")),
        doubt=str(told.get("doubt") or ""),
    )


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _number(value: object) -> float | None:
    return float(value) if type(value) in (int, float) else None  # type: ignore[arg-type]
