"""The fixture `sop_snapshot`, and what a session says of snapshots."""

from __future__ import annotations

from typing import Final

PLUGIN: Final = "syrupy"
"""The plugin that keeps snapshots."""
