"""The judge of a session or of a command, made if a field asks for one, and its calibration.

No gate may rest on a judge that is not calibrated. So whoever takes a judge here has its
calibration read with it, from the file that `sopbench judge check` writes beside the domain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from errno import EINVAL
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from pytest_sopbench._core.gates.calibration import Calibration, JudgedField, doubt_of, judged_field
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.statistics import Agreement
from pytest_sopbench._running.comparing import Comparer, Place
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench.errors import JudgeError

from .asking import ModelAsker
from .judge import OPTION, ModelJudge, fingerprint_of, judged_by, read_setting
from .keeping import ConsumptionLog, Judgements


@dataclass(kw_only=True)
class Judging:
    """The judge that is set, and how far each field that it judges is calibrated.

    Attributes:
        words: those of `sop_judge`.
        folder: where judgements are kept.
        mask: takes secrets out of what is written.
        log_name: under which name it is counted what the judge is asked.
        calibrations: by domain and field the calibration, and why it does not hold.
    """

    words: Sequence[str]
    folder: Path
    mask: Callable[[str], str]
    log_name: str
    calibrations: dict[tuple[str, str], tuple[Calibration | None, str]] = field(
        default_factory=dict[tuple[str, str], "tuple[Calibration | None, str]"]
    )

    @property
    def log(self) -> Path:
        """Where it is counted what the judge is asked, beside the judgements."""
        return self.folder / "asked" / f"{self.log_name}.jsonl"

    @cached_property
    def judge(self) -> ModelJudge:
        """The judge of the configuration.

        Raises:
            JudgeError: none is set, or it cannot be used.
        """
        setting = read_setting(self.words)
        if setting is None:
            msg = f"no model is set to judge: {OPTION} is empty"
            raise JudgeError(msg, hint=f"set {OPTION} = openai/MODEL in the configuration")
        return ModelJudge(
            setting=setting,
            asker=ModelAsker(setting.client(), setting.client(with_temperature=False)),
            judgements=Judgements(self.folder, self.mask),
            log=ConsumptionLog(self.log),
        )

    def comparer(self, output: OutputField, place: Place) -> Comparer:
        """Return what compares a field that a model judges.

        Raises:
            JudgeError: there is no judge, or the domain's calibration cannot be read.
        """
        try:
            judge = self.judge
        except JudgeError as error:
            msg = f"domain {place.domain}, field {output.name!r}: {error.message}"
            raise JudgeError(msg, hint=error.hint) from None
        found = read_calibrations(place.folder).get(output.name)
        doubt = doubt_of(found, fingerprint_of(judge.setting, output.rubric))
        self.calibrations[place.domain, output.name] = found, doubt
        return judged_by(judge, output)

    @property
    def judged(self) -> tuple[JudgedField, ...]:
        """How far the judge of each field can be relied on."""
        return tuple(
            judged_field(domain, name, calibration, why)
            for (domain, name), (calibration, why) in self.calibrations.items()
        )

    @property
    def doubtful(self) -> dict[str, dict[str, str]]:
        """Why no gate may rest on a judge, by domain and field."""
        found: dict[str, dict[str, str]] = {}
        for (domain, name), (_, why) in self.calibrations.items():
            if why:
                found.setdefault(domain, {})[name] = why
        return found


# The calibration of a domain's judges, in a file beside its other files.

FILE: Final = "judge_calibration.json"
_SCHEMA: Final = 1
_COUNTS: Final = ("both_yes", "only_judge", "only_people", "both_no")
_HINT: Final = "make it again: sopbench judge check LABELS.csv"


def calibration_path(domain: Path) -> Path:
    """Return where the calibration of a domain lies."""
    return domain / FILE


def read_calibrations(domain: Path) -> Mapping[str, Calibration]:
    """Return the calibration of each field of a domain; nothing if there is no file.

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
    if held.get("schema") != _SCHEMA:
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
    data = {"schema": _SCHEMA, "fields": {name: _to_json(known[name]) for name in sorted(known)}}
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
