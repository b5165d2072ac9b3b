"""What of an agent itself differs between two sessions: its model, its prompt, its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_SHORT: Final = 4
"""Characters of a hash that are shown, unless more are needed to tell two apart."""

_NOT_SET: Final = "not set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What an agent says of itself; what is not known is empty, or `None`.

    `agent` is what it is, or the way in which it gives a task to its model. `prompt` is the name of
    a file, and `prompt_hash` changes with its text. `settings` are written as texts.
    """

    agent: str = ""
    model: str = ""
    prompt: str = ""
    prompt_hash: str = ""
    settings: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupChange:
    """One difference; `agent` is empty where both sessions have one agent."""

    what: str
    before: str
    now: str
    agent: str = ""


def setup_changes(before: Mapping[str, Setup], now: Mapping[str, Setup]) -> tuple[SetupChange, ...]:
    """Return what differs between the agents of two sessions, by the agents' names.

    The one agent of a session is compared with the one of the other, whatever they are called. An
    agent that only one session tells of is passed over.
    """
    if len(before) == len(now) == 1:
        (one,), (other,) = before.values(), now.values()
        return tuple(_changes(one, other, ""))
    both = [name for name in now if name in before]
    return tuple(change for name in both for change in _changes(before[name], now[name], name))


def _changes(before: Setup, now: Setup, agent: str) -> Iterator[SetupChange]:
    for what in ("agent", "model"):
        was, is_now = getattr(before, what), getattr(now, what)
        if was and is_now and was != is_now:
            yield SetupChange(what=what, before=was, now=is_now, agent=agent)
    if before.prompt_hash and now.prompt_hash and before.prompt_hash != now.prompt_hash:
        yield _prompt_change(before, now, agent)
    # Arguments of an agent of the user's are no settings of one of ours.
    alike = bool(before.prompt_hash) is bool(now.prompt_hash)
    if alike and before.settings is not None and now.settings is not None:
        for name in dict.fromkeys((*before.settings, *now.settings)):
            was, is_now = (one.get(name, _NOT_SET) for one in (before.settings, now.settings))
            if was != is_now:
                yield SetupChange(what=name, before=was, now=is_now, agent=agent)


def _prompt_change(before: Setup, now: Setup, agent: str) -> SetupChange:
    length = _SHORT
    while before.prompt_hash[:length] == now.prompt_hash[:length]:
        length += _SHORT
    was, is_now = before.prompt_hash[:length], now.prompt_hash[:length]
    if before.prompt == now.prompt:
        return SetupChange(what=f"prompt {now.prompt}", before=was, now=is_now, agent=agent)
    return SetupChange(
        what="prompt",
        before=f"{before.prompt} {was}",
        now=f"{now.prompt} {is_now}",
        agent=agent,
    )
