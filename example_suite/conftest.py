from __future__ import annotations

import pytest
from agent import MeterDesk


@pytest.fixture(scope="session")
def sop_agent() -> MeterDesk:
    """The agent with the limits of this year's tariff, as production starts it."""
    return MeterDesk(daily_limit=60, estimate_per_day=10)
