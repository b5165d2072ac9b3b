"""The small sound domain, as fixtures."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

# The campaign is a program beside the tests; its broken folders and mutations serve here as well.
sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from parcels import Lab, write_lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """The folder of the small domain, whose code is not run."""
    return write_lab(tmp_path / "parcels")


@pytest.fixture
def run_lab(lab: Lab) -> Lab:
    """The same folder, whose code is run."""
    return replace(lab, run_code=True)
