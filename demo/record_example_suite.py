# ruff: noqa: INP001 - a script in a folder of its own
"""Records the model that `example_suite/replay` replays; a stub plays it, so no key is needed.

What a model would make of the procedure, the rules of the suite's own `agent.py` do.

    python record_example_suite.py [OPTIONS OF PYTEST]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stub_model

SUITE = Path(__file__).resolve().parents[1] / "example_suite"
sys.path.insert(0, str(SUITE))

from agent import MeterDesk  # noqa: E402 - it lies in the suite


class Tools:
    """The tools as the rules call them; a model's conversation has the results."""

    def __init__(self, call: Any) -> None:
        self.call = call


class Handler(stub_model.Handler):
    """Plays the rules of the desk."""

    def reply(self, messages: list[Mapping[str, Any]]) -> dict[str, Any]:
        """Say what comes next."""
        return stub_model.reply(messages, desk, json.dumps)


def desk(inputs: dict[str, Any], call: Any) -> dict[str, Any]:
    """Decide as the rules of the suite do."""
    return MeterDesk().run(inputs, Tools(call))


def main() -> int:
    """Serve the stub while pytest records."""
    command = [sys.executable, "-m", "pytest", "replay", "--sop-replay=record", *sys.argv[1:]]
    return stub_model.served(command, Handler, SUITE)


if __name__ == "__main__":
    sys.exit(main())
