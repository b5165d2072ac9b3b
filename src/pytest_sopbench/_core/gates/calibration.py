"""A model judge held against people's labels: whether a gate may rest on it, what is kept of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import chain
from typing import Final, TypeAlias

from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Usage
from pytest_sopbench._core.model.usage import add_usage
from pytest_sopbench._core.records.record import told
from pytest_sopbench._core.statistics import Agreement
from pytest_sopbench._core.values.json import JsonValue

from .conditions import EVERY, FIELD, POOLED, UNAVAILABLE, gate_metrics, is_of

LEAST_LABELS: Final = 50
"""Labels that a calibration has at least."""

LEAST_KAPPA: Final = 0.6
"""Cohen's kappa that a calibration has at least: what Landis and Koch (1977) call substantial."""

UNCALIBRATED: Final = "no calibration"
OTHER_JUDGE: Final = "calibrated with another model, prompt, setting or rubric"

Doubtful: TypeAlias = Mapping[str, Mapping[str, str]]
"""Domain to output field to why its judge must not decide a gate."""

NO_DOUBT: Final[Doubtful] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What came of holding a judge against labels of one field.

    Attributes:
        fingerprint: of the judge and its rubric.
        agreement: the judge's verdicts as the first rater's, people's labels as the second's.
        model: the judge, for people to read.
        disputed: the labelled cases in which the judge and people differ.
    """

    fingerprint: str
    agreement: Agreement = field(default_factory=Agreement)
    model: str = ""
    disputed: tuple[str, ...] = ()


def doubt_of(calibration: Calibration | None, fingerprint: str) -> str:
    """Say why a calibration does not hold for the judge of this fingerprint, or nothing."""
    if calibration is None:
        return UNCALIBRATED
    if calibration.fingerprint != fingerprint:
        return OTHER_JUDGE
    agreement = calibration.agreement
    if agreement.cases < LEAST_LABELS:
        return f"only {agreement.cases} labels, of at least {LEAST_LABELS}"
    if agreement.kappa is None:
        return "kappa unknown, since all labels and verdicts are alike"
    # 0.6 stays 0.6, whatever the fractions leave in the last digit.
    if agreement.kappa < LEAST_KAPPA - 1e-9:
        return f"kappa {shown_kappa(agreement.kappa)}, below {LEAST_KAPPA}"
    return ""


def shown_kappa(kappa: float) -> str:
    """Write a kappa so that one below the bound is never rounded up to it."""
    text = f"{kappa:.2f}"
    return f"{kappa:.4f}" if float(text) >= LEAST_KAPPA > kappa + 1e-9 else text


def uncalibrated(gate: str, where: str, doubtful: Doubtful) -> str:
    """Say which judge leaves a gate open, or nothing.

    A gate on how runs ended, on tools or on the contract does not depend on a judge; a gate on
    one field depends on the judge of that field alone, every other gate on all of its domains.

    Args:
        gate: the name of the gate.
        where: the group of runs that it was checked on.
        doubtful: the judges that must not decide.
    """
    metric = gate_metrics().get(gate)
    if gate == UNAVAILABLE or (metric is not None and not metric.judged):
        return ""
    asked = gate.removeprefix(FIELD) if gate.startswith(FIELD) else EVERY
    for domain, fields in doubtful.items():
        if _speaks_of(where, domain):
            for name, why in fields.items():
                if asked in {EVERY, name}:
                    return in_doubt(domain, name, why)
    return ""


def unreviewed(where: str, drafts: Mapping[str, str]) -> str:
    """Say which drafted domain leaves a gate open, whatever the gate demands, or nothing.

    Args:
        where: the group of runs that the gate was checked on.
        drafts: the domains whose labels nobody has reviewed, and what is said of them.
    """
    found = (told for domain, told in drafts.items() if _speaks_of(where, domain))
    return next((f"draft: {told}" for told in found), "")


def in_doubt(domain: str, field: str, why: str) -> str:
    """Say that the judge of a field must not decide."""
    return f"the judge of {domain}, {field} must not decide: {why}"


def _speaks_of(where: str, domain: str) -> bool:
    """Tell whether a group of runs has some of a domain; that of no name, and `all`, have."""
    return not where or is_of(where, POOLED) or is_of(where, domain)


# What a saved session says of its model judge: how far it is calibrated, and what it consumed.


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedField:
    """How far the judge of one output field agrees with people.

    `agreement` and `kappa` are unknown if there are no labels; `doubt` says why no gate may
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


CONSUMED: Final = ("asked", "failed", "kept", "repeated")
"""What a judge was asked, in numbers that add up."""


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


def judge_report_to_json(report: JudgeReport) -> dict[str, JsonValue]:
    """Return the report for a program, as a session keeps it; unknown is `null`."""
    return {
        **{name: getattr(report, name) for name in CONSUMED},
        "usage": told(report.usage),
        "fields": [asdict(one) for one in report.fields],
    }


def with_doubts(report: JudgeReport | None, doubtful: Doubtful) -> JudgeReport | None:
    """Return a report with every doubt of a session, whatever else it says; none needs none."""
    if report is None and not doubtful:
        return None
    known = report or JudgeReport()
    fields = {(one.domain, one.field): one for one in known.fields}
    for domain, doubts in doubtful.items():
        for name, why in doubts.items():
            if not fields.get((domain, name), JudgedField(domain=domain, field=name)).doubt:
                fields[domain, name] = JudgedField(domain=domain, field=name, doubt=why)
    return replace(known, fields=tuple(fields.values()))


def together(reports: Iterable[JudgeReport]) -> JudgeReport:
    """Add up what the judges of the parts of a session came to; a doubt of one stays a doubt."""
    every = list(reports)
    fields: dict[tuple[str, str], JudgedField] = {}
    for one in chain.from_iterable(report.fields for report in every):
        known = fields.get((one.domain, one.field))
        if known is None or (one.doubt and not known.doubt):
            fields[one.domain, one.field] = one
    return JudgeReport(
        **{name: sum(getattr(one, name) for one in every) for name in CONSUMED},
        usage=reduce(add_usage, (one.usage for one in every), UNKNOWN_USAGE),
        fields=tuple(fields.values()),
    )
