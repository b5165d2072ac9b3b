"""Folders as SOP-Bench publishes them: they were not written for our format.

Their metadata may lack what ours has, and have what ours lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_sopbench._loading.files.names import is_domain_name

DATA_FILE = "test_set_with_outputs.csv"
"""The data file of SOP-Bench: it makes a folder one of the published layout."""

_TEXTS = ("title", "description", "industry", "licence", "version")


def is_published(folder: Path) -> bool:
    """Whether a folder has the published layout."""
    return (folder / DATA_FILE).is_file()


def adapted(
    content: Mapping[str, object], folder: Path
) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Return the metadata without what only describes and cannot be read, and a note of each."""
    kept, notes = dict(content), list[str]()
    for key in [key for key, value in content.items() if value is None]:
        del kept[key]
    for key in _TEXTS:
        if isinstance(kept.get(key), list | dict | bool):
            del kept[key]
            notes.append(f"key {key!r} is no text, and is left out")
    name = kept.get("name")
    if isinstance(name, str) and not is_domain_name(name) and is_domain_name(folder.name):
        kept = {"title": name, **kept, "name": folder.name}
        notes.append(f"{name!r} cannot be the name of a domain; its folder's name is")
    return kept, tuple(notes)
