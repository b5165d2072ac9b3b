"""The SOPs of the bundled domains, from which noise is taken."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_sopbench._loading.files.document import read_text
from pytest_sopbench._loading.finding.search_paths import bundled_candidates
from pytest_sopbench._loading.load import SOP_FILES


def bundled_sops(but: str) -> Sequence[str]:
    """Return the SOPs of all bundled domains but the one of that name, by their names."""
    folders = [one.folder for one in bundled_candidates() if one.folder and but not in one.names]
    return [
        read_text(folder / name)
        for folder in folders
        for name in SOP_FILES
        if (folder / name).is_file()
    ]
