"""Findings that `metadata.json` accepts, with a reason each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_sopbench._core.values.json import JsonValue

from .finding import Fault, Finding, Place

KEY = "audit"
"""The key of `metadata.json` that holds the acceptances."""

FORM = '"audit": {"accept": [{"rule": NAME, "place": TEXT, "reason": TEXT}]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A rule whose findings are accepted, everywhere or at the places that contain `place`."""

    rule: str
    reason: str
    place: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether this finding is accepted; a place is matched by the text that is shown."""
        return finding.rule == self.rule and self._at(str(finding.place))

    def _at(self, shown: str) -> bool:
        # `data.csv:1` must not accept what stands on line 12.
        at = shown.find(self.place)
        after = shown[at + len(self.place) :][:1]
        return at >= 0 and not (self.place[-1:].isdigit() and after.isdigit())


def read_acceptances(
    metadata: Mapping[str, JsonValue], known: Iterable[str]
) -> tuple[tuple[Acceptance, ...], tuple[str, ...]]:
    """Return the acceptances that can be used, and what is wrong with the others."""
    names = frozenset(known)
    section = metadata.get(KEY, {})
    entries = section.get("accept", []) if isinstance(section, Mapping) else None
    if not isinstance(entries, list):
        return (), (f"key {KEY!r} is not of the form {FORM}",)
    read: list[Acceptance] = []
    wrong: list[str] = []
    for number, entry in enumerate(entries, 1):
        one = _acceptance(entry)
        if isinstance(one, str):
            wrong.append(f"acceptance {number} {one}")
        elif one.rule not in names:
            wrong.append(f"acceptance {number}: there is no rule {one.rule!r}")
        else:
            read.append(one)
    if isinstance(section, Mapping) and set(section) - {"accept"}:
        wrong.append(f"key {KEY!r} has other keys than 'accept'")
    return tuple(read), tuple(wrong)


def sorted_out(
    findings: Iterable[Finding], acceptances: Sequence[Acceptance]
) -> tuple[tuple[Finding, ...], tuple[tuple[Finding, str], ...], tuple[Acceptance, ...]]:
    """Part findings from those that are accepted; return the acceptances without any as well."""
    left: list[Finding] = []
    accepted: list[tuple[Finding, str]] = []
    used: set[Acceptance] = set()
    for finding in findings:
        by = [one for one in acceptances if one.covers(finding)]
        used.update(by)
        if by:
            accepted.append((finding, by[0].reason))
        else:
            left.append(finding)
    return tuple(left), tuple(accepted), tuple(one for one in acceptances if one not in used)


def unused_faults(unused: Iterable[Acceptance], file: str) -> Iterator[Fault]:
    """Say of each acceptance that there is nothing left to accept."""
    for one in unused:
        where = f" at {one.place!r}" if one.place else ""
        yield Fault(
            place=Place(file=file, column=KEY),
            what=f"{one.rule!r}{where} is accepted, and there is no such finding",
            do="remove the acceptance",
        )


def _acceptance(entry: JsonValue) -> Acceptance | str:
    if not isinstance(entry, Mapping) or set(entry) - {"rule", "place", "reason"}:
        return f"is not of the form {FORM}"
    rule, place, reason = entry.get("rule"), entry.get("place", ""), entry.get("reason")
    if not isinstance(rule, str) or not isinstance(place, str):
        return f"is not of the form {FORM}"
    if not isinstance(reason, str) or not reason.strip():
        return "has no reason: whoever reads it wants to know why"
    return Acceptance(rule=rule, place=place, reason=reason)
