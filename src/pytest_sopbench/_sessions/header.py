"""The first line of a saved session: what was asked of whom, and judged how."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_sopbench._core.models import JsonValue

from .git import GitState

SCHEMA = 1
"""Counts up when a reader of before could misread what is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainHeader:
    """One domain of a session: hashes of its content, and the ids of the planned tasks.

    `judging` is the `judging_hash` of this domain alone, which tells whether sessions of different
    domains agree on the one they share; empty where it was not recorded.
    """

    sop: str = ""
    specs: str = ""
    tools: str = ""
    data: str = ""
    planned: tuple[str, ...] = ()
    judging: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHeader:
    """What a reader must know before the first run.

    `started` is an ISO instant with its zone. `options` are those that say which runs were made
    and how; what is secret, or only of this machine, has no place among them. `judging` is the
    `judging_hash` of the rules. `git` is `None` outside a repository.
    """

    plugin: str
    agent: str
    started: str
    judging: str
    agent_args: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    git: GitState | None = None
    domains: Mapping[str, DomainHeader] = field(default_factory=dict[str, DomainHeader])
    schema: int = SCHEMA


def header_to_line(header: SessionHeader) -> str:
    """One line of ASCII JSON without its end."""
    data = {"type": "header", "schema": header.schema, **asdict(header)}
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def header_from_json(data: Mapping[str, Any]) -> SessionHeader:
    """Read what `header_to_line` wrote; keys that are not known are passed over.

    Raises:
        ValueError: a key is missing, or holds something else than it should.
    """
    try:
        git = data["git"]
        return SessionHeader(
            schema=data["schema"],
            plugin=str(data["plugin"]),
            agent=str(data["agent"]),
            started=str(data["started"]),
            judging=str(data["judging"]),
            agent_args=dict(data["agent_args"]),
            options=dict(data["options"]),
            git=GitState(commit=git["commit"], dirty=git["dirty"]) if git else None,
            domains={name: _domain(one) for name, one in data["domains"].items()},
        )
    except (KeyError, TypeError, AttributeError, ValueError) as fault:
        msg = f"a header with missing or unusable keys: {fault}"
        raise ValueError(msg) from fault


def _domain(data: Mapping[str, Any]) -> DomainHeader:
    return DomainHeader(
        sop=data["sop"],
        specs=data["specs"],
        tools=data["tools"],
        data=data["data"],
        planned=tuple(data["planned"]),
        judging=str(data.get("judging", "")),
    )
