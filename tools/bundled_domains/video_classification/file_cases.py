"""What may be irregular about a file."""

from __future__ import annotations

from collections.abc import Iterator

from bundled_domains.generator import Dice

from .changes import Irregularity, file_with
from .uploads import POLICY, Row

EVERYBODY = ("ordinary", "newsroom", "school")


def file_cases() -> Iterator[Irregularity]:
    """The bench, the four ways in which a file is not accepted, and flashes."""
    yield Irregularity(
        tag="busy-twice",
        rows=4,
        put=lambda _, row: row | {"_busy": 2},
        take=lambda row: row | {"_busy": 1} if row["_busy"] == 2 else None,  # noqa: PLR2004 - twice
    )
    yield Irregularity(
        tag="asked-again",
        rows=5,
        put=lambda _, row: row | {"_busy": 1},
        take=lambda row: row | {"_busy": 2} if row["_busy"] == 1 else None,
    )
    yield from _containers()
    yield from _sizes()
    yield from _lengths()
    yield from (_unreadable(more) for more in (0, 1))
    yield Irregularity(
        tag="flicker",
        rows=10,
        put=lambda dice, row: file_with(row, flashes_per_second=dice.between(32, 120) / 10),
        take=lambda row: file_with(row, flashes_per_second=0.0),
    )
    yield from (_flashes(*both) for both in ((3.0, 3.1), (3.1, 3.0)))


def _containers() -> Iterator[Irregularity]:
    yield Irregularity(
        tag="container",
        put=lambda dice, row: (
            file_with(row, container="mov") | {"channel_kind": dice.pick(("ordinary", "school"))}
        ),
        take=lambda row: (
            file_with(row, container="mp4") if row["_file"]["container"] == "mov" else None
        ),
    )
    yield from (_container(*both) for both in (("newsroom", "mkv"), ("school", "avi")))
    yield Irregularity(
        tag="newsroom-file",
        rows=5,
        put=lambda dice, row: (
            dice.pick(
                (
                    file_with(row, container="mov"),
                    file_with(row, size=dice.between(4_001, 6_400), size_unit="MB"),
                )
            )
            | {"channel_kind": "newsroom"}
        ),
        take=lambda row: (
            row | {"channel_kind": "ordinary"}
            if row["_file"]["container"] == "mov" or megabytes(row) > POLICY["MOST_MEGABYTES"]
            else None
        ),
    )


def _container(kind: str, container: str) -> Irregularity:
    """One that is taken from nobody."""
    return Irregularity(
        tag="container",
        rows=2,
        put=lambda _, row: file_with(row, container=container) | {"channel_kind": kind},
        take=lambda row: (
            file_with(row, container="mp4") if row["_file"]["container"] == container else None
        ),
    )


def megabytes(row: Row) -> float:
    """The size of the file."""
    file = row["_file"]
    size: float = file["size"] * 1000 if file["size_unit"] == "GB" else file["size"]
    return round(size, 3)


def _sizes() -> Iterator[Irregularity]:
    yield Irregularity(
        tag="gigabytes",
        rows=4,
        put=lambda dice, row: file_with(
            row, size=dice.between(4_001, 7_900) / 1000, size_unit="GB"
        ),
        take=lambda row: file_with(row, size_unit="MB"),
    )
    for limit, kind in (
        (POLICY["MOST_MEGABYTES"], "ordinary"),
        (POLICY["MOST_OF_NEWSROOMS"], "newsroom"),
    ):
        yield from (_size(limit, kind, over) for over in (0, 1))


def _size(limit: int, kind: str, over: int) -> Irregularity:
    """A file that is just as big as is allowed, or a megabyte bigger."""
    size = limit + over

    def put(dice: Dice, row: Row) -> Row:
        unit = dice.pick(("MB", "GB"))
        return file_with(row, size=size if unit == "MB" else size / 1000, size_unit=unit) | {
            "channel_kind": kind
        }

    return Irregularity(
        tag="boundary-size",
        put=put,
        take=lambda row: (
            file_with(row, size=limit + 1 - over, size_unit="MB")
            if megabytes(row) == size
            else None
        ),
        decides=False,
    )


def _lengths() -> Iterator[Irregularity]:
    shortest = POLICY["SHORTEST"]
    for seconds, kinds in (
        (shortest, EVERYBODY),
        (POLICY["LONGEST"], ("ordinary", "newsroom")),
        (POLICY["LONGEST_OF_SCHOOLS"], ("school",)),
    ):
        beyond = -1 if seconds == shortest else 1
        yield _length(seconds, 0, beyond, kinds)
        yield _length(seconds, beyond, -beyond, kinds)
    yield Irregularity(
        tag="lecture",
        put=lambda dice, row: (
            file_with(row, frames=row["_file"]["frame_rate"] * dice.between(7_300, 14_300))
            | {"channel_kind": "school"}
        ),
        take=lambda row: (
            row | {"channel_kind": "ordinary"} if row["channel_kind"] == "school" else None
        ),
    )


def _length(seconds: int, frames: int, step: int, kinds: tuple[str, ...]) -> Irregularity:
    """So many seconds and so many frames; the step leads over the limit."""

    def exactly(row: Row) -> int:
        rate: int = row["_file"]["frame_rate"]
        return seconds * rate + frames

    return Irregularity(
        tag="boundary-length",
        rows=2,
        put=lambda dice, row: (
            file_with(row, frames=exactly(row)) | {"channel_kind": dice.pick(kinds)}
        ),
        take=lambda row: (
            file_with(row, frames=exactly(row) + step)
            if row["_file"]["frames"] == exactly(row)
            else None
        ),
        decides=False,
    )


def _unreadable(more: int) -> Irregularity:
    """Just as many frames that cannot be read as are allowed, and perhaps one more."""

    def put(dice: Dice, row: Row) -> Row:
        most = dice.between(30, 900) * 4
        return file_with(row, frames=25 * most, unreadable_frames=most + more)

    def take(row: Row) -> Row | None:
        found = row["_file"]["unreadable_frames"]
        if (found - more) * 25 != row["_file"]["frames"]:
            return None
        return file_with(row, unreadable_frames=found + 1 - 2 * more)

    return Irregularity(tag="boundary-unreadable", put=put, take=take, decides=False)


def _flashes(flashes: float, other: float) -> Irregularity:
    return Irregularity(
        tag="boundary-flicker",
        put=lambda _, row: file_with(row, flashes_per_second=flashes),
        take=lambda row: (
            file_with(row, flashes_per_second=other)
            if row["_file"]["flashes_per_second"] == flashes
            else None
        ),
    )
