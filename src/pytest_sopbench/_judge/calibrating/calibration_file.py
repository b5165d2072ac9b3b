"""The calibration of a domain's judges, in a file beside its other files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from errno import EINVAL
from pathlib import Path
from typing import Any, Final, cast

from pytest_sopbench._core.gates.calibration import Calibration
from pytest_sopbench._core.statistics.agreement import Agreement
from pytest_sopbench._sessions.file.atomic import replace_file
from pytest_sopbench.errors import JudgeError

FILE: Final = "judge_calibration.json"
SCHEMA: Final = 1
_COUNTS: Final = ("both_yes", "only_judge", "only_people", "both_no")
_HINT: Final = "make it again: sopbench judge check LABELS.csv"


def calibration_path(domain: Path) -> Path:
    """Return where the calibration of a domain lies."""
    return domain / FILE


def read_calibrations(domain: Path) -> Mapping[str, Calibration]:
    """Return the calibration of each field of a domain; nothing where there is no file.

    Only the counts decide; the rates that stand beside them are for readers.

    Raises:
        JudgeError: the file cannot be read, or does not hold what it should.
    """
    path = calibration_path(domain)
    if not path.exists():
        return {}
    try:
        if not path.is_file():
            raise OSError(EINVAL, "no regular file")  # noqa: TRY301 - told of as others are
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as fault:
        msg = f"{path}: cannot be read: {fault}"
        raise JudgeError(msg, hint=_HINT) from None
    held = _object(path, data, "the file")
    if held.get("schema") != SCHEMA:
        msg = f"{path}, key 'schema': {held.get('schema')!r} is not known to this version"
        raise JudgeError(msg, hint=_HINT)
    fields = _object(path, held.get("fields"), "key 'fields'")
    return {
        name: _calibration(path, f"fields.{name}", _object(path, one, f"key 'fields.{name}'"))
        for name, one in fields.items()
    }


def write_calibrations(domain: Path, found: Mapping[str, Calibration]) -> Path:
    """Write calibrations of some fields; those of others stay. Return the file.

    Raises:
        JudgeError: the file that is there cannot be read, or the disk does not take it.
    """
    path = calibration_path(domain)
    known = {**read_calibrations(domain), **found}
    data = {"schema": SCHEMA, "fields": {name: _to_json(known[name]) for name in sorted(known)}}
    try:
        with replace_file(path) as file:
            file.write(json.dumps(data, indent=1, ensure_ascii=True).encode("ascii") + b"\n")
    except OSError as fault:
        msg = f"{path}: cannot be written: {fault.strerror or fault}"
        raise JudgeError(msg, hint="the domain may be an installed one; copy it") from None
    return path


def _to_json(one: Calibration) -> dict[str, Any]:
    table = one.agreement
    interval = table.interval
    return {
        "fingerprint": one.fingerprint,
        "model": one.model,
        "labels": table.cases,
        "agreement": _rounded(table.rate),
        "kappa": _rounded(table.kappa),
        "interval": None if interval is None else [*map(_rounded, interval)],
        "both_yes": table.both_yes,
        "only_judge": table.only_first,
        "only_people": table.only_second,
        "both_no": table.both_no,
        "disputed": [*one.disputed],
    }


def _calibration(path: Path, key: str, data: Mapping[str, Any]) -> Calibration:
    both_yes, only_judge, only_people, both_no = (
        _count(path, f"{key}.{name}", data.get(name)) for name in _COUNTS
    )
    fingerprint = data.get("fingerprint")
    if not isinstance(fingerprint, str) or not fingerprint:
        msg = f"{path}, key '{key}.fingerprint': a text is needed, not {fingerprint!r}"
        raise JudgeError(msg, hint=_HINT)
    return Calibration(
        fingerprint=fingerprint,
        agreement=Agreement(
            both_yes=both_yes, only_first=only_judge, only_second=only_people, both_no=both_no
        ),
        model=str(data.get("model", "")),
        disputed=tuple(map(str, data.get("disputed") or ())),
    )


def _count(path: Path, key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        msg = f"{path}, key '{key}': a count of 0 or more is needed, not {value!r}"
        raise JudgeError(msg, hint=_HINT)
    return value


def _object(path: Path, value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        msg = f"{path}: {place} is no JSON object"
        raise JudgeError(msg, hint=_HINT)
    return cast("Mapping[str, Any]", value)


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)
