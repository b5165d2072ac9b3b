"""The README as a package index shows it: its links lead to the repository.

Hatchling loads this file at every build. An index has no files beside the page, so a link such as
`docs/tutorial.md` would lead nowhere.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<image>!?)\[(?P<words>[^\]]*)\]\((?!https?:|#)(?P<path>[^)\s]+)\)")
RELEASE = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")


class IndexPage(MetadataHookInterface):
    """Sets the field `readme`, which `pyproject.toml` calls dynamic."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text("utf-8")
        source = metadata.get("urls", {}).get("Source", "")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, source, metadata["version"]),
        }


def absolute(text: str, source: str, version: str) -> str:
    """Return the page with links below an address, at the tag of a release; else as it is."""
    if not source:
        return text
    at = f"v{version}" if RELEASE.fullmatch(version) else "HEAD"

    def whole(found: re.Match[str]) -> str:
        kind = "raw" if found["image"] else "blob"
        return f"{found['image']}[{found['words']}]({source}/{kind}/{at}/{found['path']})"

    return LINK.sub(whole, text)
