"""Whether the plugin survives a broken folder, and says of it what it owes its user."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from zlib import crc32

from builders.domains import BUNDLED, domains_in

from campaign.folders.breakage import Breakage
from campaign.forked import fork_pytest, fork_sopbench
from campaign.kit import Ended, excerpt, traceback_of_ours, write_lab

LONGEST_ERROR = 3_000
"""Characters of an error that a person still reads."""

BUNDLED_NAMES = {folder.name for folder in domains_in(BUNDLED)}
"""They are listed beside those of the project."""

AGENT = "--agent=agents:right"


def survives(breakage: Breakage, seed: int, folder: Path) -> str | None:
    """Break a folder beside a sound one; return what failed, or None."""
    broken = write_lab(folder)
    write_lab_beside(folder)
    breakage.apply(broken, Random(f"{seed}/{breakage.name}"))  # noqa: S311 - to be repeated
    # A session costs three times as much as the look-up alone: another quarter for each seed.
    whole = crc32(f"{seed}/{breakage.name}".encode()) % 4 == 0
    return next(_failures(breakage, folder, whole=whole), None)


def write_lab_beside(folder: Path) -> None:
    """A second domain, which is sound and must stay usable."""
    beside = folder / "beside"
    beside.mkdir()
    write_lab(beside, "well").rename(folder / "domains" / "well")


def _failures(breakage: Breakage, folder: Path, *, whole: bool) -> Iterator[str]:
    free = breakage.unprivileged
    session = fork_pytest(
        folder, "--sop-domain=./domains/lab", AGENT, *breakage.args, unprivileged=free
    )
    yield from _of_session(breakage, session)
    listed = fork_sopbench(folder, "list", "--json", unprivileged=free)
    yield from _of_list(breakage, listed)
    yield from _of_other(folder, whole=whole, unprivileged=free)


def _of_other(folder: Path, *, whole: bool, unprivileged: bool) -> Iterator[str]:
    """The sound domain beside it is found by its name, and runs."""
    if whole:
        args = ("--sop-domain=well", AGENT)
        other = fork_pytest(folder, *args, unprivileged=unprivileged)
        usable = other.status == 0 and "6 of 6" in other.out
    else:
        other = fork_sopbench(folder, "list", "well", "-q", unprivileged=unprivileged)
        usable = other.status == 0 and "well" in other.out
    if not usable:
        yield f"the sound domain beside it cannot be used: {excerpt(other)}"
    yield from _broken_down(other)


def _of_session(breakage: Breakage, session: Ended) -> Iterator[str]:
    yield from _broken_down(session)
    if breakage.verdict == "sound":
        if session.status != 0:
            yield f"it is sound, and the session ends otherwise: {excerpt(session)}"
        return
    if session.status == 0:
        yield f"the session of a broken folder ends with 0: {excerpt(session)}"
        return
    if breakage.verdict == "refused":
        yield from _of_error(session)
    missing = [text for text in breakage.says if text not in session.text]
    if missing:
        yield f"the session does not say {missing[0]!r}: {excerpt(session)}"


def _of_error(session: Ended) -> Iterator[str]:
    errors = [line for line in session.text.splitlines() if line.startswith("ERROR: ")]
    if session.status != 4:
        yield f"a folder that cannot be used is no usage error: {excerpt(session)}"
    if len(errors) != 1:
        yield f"{len(errors)} errors where one is due: {excerpt(session)}"
    if len(session.text) > LONGEST_ERROR:
        yield f"an error of {len(session.text)} characters: {session.text[:1_000]}"


def _of_list(breakage: Breakage, listed: Ended) -> Iterator[str]:
    yield from _broken_down(listed)
    if listed.status != 0:
        yield f"`sopbench list` ends with an error: {excerpt(listed)}"
        return
    entries = json.loads(listed.out)
    usable = {entry["name"] for entry in entries if "problem" not in entry}
    broken = [entry for entry in entries if "problem" in entry]
    if "well" not in usable:
        yield f"`sopbench list` lacks the sound domain beside it: {excerpt(listed)}"
    found = "broken" if broken else "usable" if "lab" in usable else "absent"
    if len(usable - BUNDLED_NAMES - {"well"}) > 1 or len(broken) > 1:
        yield f"`sopbench list` counts a folder twice: {excerpt(listed)}"
    if found != breakage.listed:
        yield f"`sopbench list` has it as {found}, not as {breakage.listed}: {excerpt(listed)}"


def _broken_down(ended: Ended) -> Iterator[str]:
    if ended.status is None:
        yield f"a hang: {excerpt(ended)}"
    elif ended.status < 0 or ended.status == 255:
        yield f"a death of the process: {excerpt(ended)}"
    found = traceback_of_ours(ended.text)
    if found is not None:
        yield found
