"""Which functions compared the fields of two sessions, where these are not the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def unlike_comparers(
    domain: str, before: Mapping[str, str], now: Mapping[str, str]
) -> Iterator[str]:
    """Say of each field of a domain what compared it there, where it is something else here."""
    for field in {**before, **now}:
        there, here = before.get(field, "the judge"), now.get(field, "the judge")
        name, _, version = there.partition(" ")
        other, _, today = here.partition(" ")
        if name == other and version != today:
            yield f"{field} of {domain} by {name}, {version} there, {today} here"
        elif there != here:
            yield f"{field} of {domain} by {there} there, by {here} here"
