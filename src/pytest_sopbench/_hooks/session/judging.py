"""The model judge of a session, the same for all of its domains."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

import pytest

from pytest_sopbench._hooks.settings.options import Options
from pytest_sopbench._judge.judging import Judging

LOG: Final = "sop_judge_log"
"""What a worker is told: under which name the session counts what its judge is asked."""

_JUDGING = pytest.StashKey[Judging]()


def judging_of(config: pytest.Config, options: Options) -> Judging:
    """Return the judging of a session, the same for all that ask."""
    if _JUDGING not in config.stash:
        given: Mapping[str, Any] = getattr(config, "workerinput", {})
        config.stash[_JUDGING] = Judging(
            words=options.judge,
            folder=options.judgements_dir,
            mask=options.redaction.text,
            log_name=given.get(LOG) or secrets.token_hex(8),
            uncalibrated=options.judge_uncalibrated,
        )
    return config.stash[_JUDGING]
