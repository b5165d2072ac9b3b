"""A domain whose look-up tools an MCP server serves."""

from __future__ import annotations

import json
import sys
from pathlib import Path

SERVER = Path(__file__).parents[1] / "processes" / "mcp_lookups.py"


def serve_by_mcp(domain: Path, *habits: str, **settings: object) -> Path:
    """Have the tools of a domain's metadata served by a server with these habits."""
    file = domain / "metadata.json"
    metadata = json.loads(file.read_text(encoding="utf-8"))
    if "tools" in metadata:
        tools = json.dumps(metadata.pop("tools"))
        (domain / "served.json").write_text(tools, encoding="utf-8")
    command = [sys.executable, str(SERVER), *habits]
    metadata["mcp"] = {"command": command} | settings
    if "url" in settings:
        del metadata["mcp"]["command"]
    file.write_text(json.dumps(metadata), encoding="utf-8")
    return domain
