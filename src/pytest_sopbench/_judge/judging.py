"""The judge of a session or of a command, made where a field asks for one, and its calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pytest_sopbench._core.gates.calibration import Calibration, JudgedField, doubt_of, judged_field
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._running.comparing import Comparer, Place
from pytest_sopbench.errors import JudgeError

from .asking import ModelAsker
from .calibrating import read_calibrations
from .judge import ModelJudge, fingerprint_of, judged_by
from .keeping import ConsumptionLog, Judgements, log_path
from .setting import OPTION, read_setting


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
        return log_path(self.folder, self.log_name)

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
            asker=ModelAsker(setting),
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
