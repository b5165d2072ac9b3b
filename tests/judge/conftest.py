"""Where the tests of the judge find their judge, and where it keeps its judgements."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".sop" / "judgements"
