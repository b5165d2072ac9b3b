"""What the header of a saved session says of the agents themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_sopbench._core.values.json import JsonValue

from .header import SessionHeader

if TYPE_CHECKING:
    from pytest_sopbench._core.comparing.setups import Setup


def setups_of(header: SessionHeader) -> Mapping[str, Setup]:
    """Return what each agent says of itself; of one that says nothing, what it was given."""
    from pytest_sopbench._core.comparing.setups import Setup  # noqa: PLC0415 - only where sessions are compared

    told, hashes = header.options.setups, header.options.prompts
    found = {name: _setup(told, hashes, name) for name in dict.fromkeys((*told, *hashes))}
    # What the session was given says nothing more of an agent that lists its own settings.
    return found or {header.agent: Setup(agent=header.agent, settings=dict(header.agent_args))}


def _setup(told: Mapping[str, JsonValue], hashes: Mapping[str, JsonValue], name: str) -> Setup:
    from pytest_sopbench._core.comparing.setups import Setup  # noqa: PLC0415 - only where sessions are compared

    said = _object(told, name)
    settings = said.get("settings")
    return Setup(
        agent=_text(said, "agent"),
        model=_text(said, "model"),
        prompt=_text(said, "prompt"),
        prompt_hash=_text(hashes, name),
        settings={key: str(one) for key, one in settings.items()}
        if isinstance(settings, Mapping)
        else None,
    )


def _object(held: Mapping[str, JsonValue], name: str) -> Mapping[str, JsonValue]:
    found = held.get(name)
    return found if isinstance(found, Mapping) else {}


def _text(held: Mapping[str, JsonValue], name: str) -> str:
    found = held.get(name)
    return found if isinstance(found, str) else ""
