"""The model judge of the project, for commands that judge, and what it was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_sopbench._cli.app import project, refuse, say

if TYPE_CHECKING:
    from pytest_sopbench._core.hiding import Mask
    from pytest_sopbench._core.model.usage import Prices
    from pytest_sopbench._judge.judging import Judging


def project_judging(mask: Mask) -> Judging:
    """Return the judge that the project sets; it is made where it is asked for."""
    import secrets

    from pytest_sopbench._judge.judging import Judging
    from pytest_sopbench._judge.setting import OPTION

    known = project()
    return Judging(
        words=known.words(OPTION),
        folder=known.folders("sop_judgements_dir")[0],
        mask=mask,
        log_name=secrets.token_hex(8),
        uncalibrated=known.words("sop_judge_uncalibrated")[0],
    )


def comparer_seconds() -> float | None:
    """Return how long one comparison may take, `None` for no limit."""
    from pytest_sopbench._settings.readers import read_seconds

    try:
        return read_seconds(project().words("sop_comparer_timeout")[0])
    except ValueError as fault:
        refuse(f"sop_comparer_timeout: {fault}")


def say_consumption(judging: Judging) -> None:
    """Say what the judge was asked in this command, if anything."""
    from pytest_sopbench._judge.calibrating import consumption_text
    from pytest_sopbench._judge.keeping import read_log

    if not judging.log.exists():
        return
    found = read_log(judging.log, _prices())
    judging.log.unlink(missing_ok=True)
    say(consumption_text(found))


def _prices() -> Prices | None:
    """Return the prices of the configuration.

    Raises:
        LoadingError: its file cannot be used.
    """
    from pytest_sopbench._loading.prices import NAME, LibraryPrices, has_library, read_price_file

    asked = next(iter(project().words("sop_prices")), NAME)
    if asked == "none":
        return None
    if asked == NAME:
        return LibraryPrices() if has_library() else None
    return read_price_file(project().folder / asked)
