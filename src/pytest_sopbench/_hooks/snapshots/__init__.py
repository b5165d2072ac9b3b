"""The fixture `sop_snapshot`, and what a session says of snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

PLUGIN: Final = "syrupy"
"""The plugin that keeps snapshots."""

FILE = pytest.StashKey[Path]()
"""Where the snapshot of an item lies, for syrupy, which asks many times."""
