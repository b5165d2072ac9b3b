"""What stands around the model: the prompt, the tools, and how its answer is read."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("openai", reason="model_desk.py asks its model by the client of OpenAI")


def test_answer_of_the_model_is_right(sop_run: Any) -> None:
    sop_run.assert_correct()


def test_steps_of_the_model_keep_the_contract(sop_run: Any) -> None:
    sop_run.assert_contract()
    assert [call.name for call in sop_run.trace.calls if call.bad] == []
