"""What the tests of every room share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of the public releases, which are too restricted to be part of this project."""
    folder = os.environ.get("SOPBENCH_DATA")
    if not folder:
        pytest.skip("SOPBENCH_DATA is not set: it names the folder with the public domains")
    return Path(folder)
