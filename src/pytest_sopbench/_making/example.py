"""The small example: a whole domain to look at, to run, and to replace."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from .place import Place

_FILES: Final = (
    "sop.md",
    "toolspecs.json",
    "data.csv",
    "metadata.json",
    "policy.py",
    "expected_calls.jsonl",
    "agent.py",
)


def example_files(place: Place) -> Mapping[str, str]:
    """Return the files of the example by their names, for a domain in this place."""
    texts = {name: template(name, place) for name in _FILES}
    return {**texts, place.test_file: template("test_domain.py", place)}


def template(name: str, place: Place) -> str:
    """Return a file of the example, with what the place has to say in it."""
    text = files("pytest_sopbench._making").joinpath("template", f"{name}.txt").read_text("utf-8")
    for mark, value in (
        ("@NAME@", place.name),
        ("@DOMAIN@", place.domain),
        ("@AGENT@", place.agent),
    ):
        text = text.replace(mark, value)
    return text
