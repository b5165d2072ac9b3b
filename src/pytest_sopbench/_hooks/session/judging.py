"""The model judge of a session, the same for all of its domains."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_sopbench._hooks.settings.options import Options

if TYPE_CHECKING:
    from pytest_sopbench._judge.judging import Judging

LOG: Final = "sop_judge_log"
"""What a worker is told: under which name the session counts what its judge is asked."""

_JUDGING = pytest.StashKey["Judging"]()
_LOG_NAME = pytest.StashKey[str]()


def log_name_of(config: pytest.Config) -> str:
    """Return under which name a session counts what its judge is asked, in all its processes."""
    if _LOG_NAME not in config.stash:
        given: Mapping[str, Any] = getattr(config, "workerinput", {})
        config.stash[_LOG_NAME] = given.get(LOG) or secrets.token_hex(8)
    return config.stash[_LOG_NAME]


def judging_of(config: pytest.Config, options: Options) -> Judging:
    """Return the judging of a session, the same for all that ask."""
    if _JUDGING not in config.stash:
        from pytest_sopbench._judge.judging import Judging  # noqa: PLC0415 - few sessions judge

        # The report is needed after the runs, which may break imports.
        import_module("pytest_sopbench._judge.calibrating")
        config.stash[_JUDGING] = Judging(
            words=options.judge,
            folder=options.judgements_dir,
            mask=options.redaction.text,
            log_name=log_name_of(config),
        )
    return config.stash[_JUDGING]


def judged_in(config: pytest.Config) -> Judging | None:
    """Return the judging of a session in which a field is judged; `None` in any other."""
    return config.stash.get(_JUDGING, None)


def doubtful_in(config: pytest.Config) -> Mapping[str, Mapping[str, str]]:
    """Return why no gate may rest on a judge, by domain and field."""
    judging = judged_in(config)
    return judging.doubtful if judging is not None else {}
