"""Recorded model traffic: around runs, before the first one, and in the summary."""

from __future__ import annotations

from typing import Final

TAPES: Final = "sop-tapes"
"""What the plugin is called that records or replays the runs of a process."""

OUTPUT: Final = "sop_replay"
"""What a worker tells at its end: requests that belong to no run, libraries it cannot look into."""
