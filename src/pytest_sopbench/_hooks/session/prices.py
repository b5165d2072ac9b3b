"""By which prices the session reckons costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sopbench._core.model.prices import Prices
from pytest_sopbench.errors import LoadingError


def prices_of(asked: Path | str) -> Prices | None:
    """Return the prices that `sop_prices` asks for.

    Raises:
        pytest.UsageError: the file cannot be used, or the library is not installed.
    """
    from pytest_sopbench._loading.prices.library import NAME, LibraryPrices, has_library  # noqa: PLC0415 - only where prices are asked for

    if isinstance(asked, Path):
        try:
            from pytest_sopbench._loading.prices.file import read_price_file  # noqa: PLC0415 - only where prices are asked for

            return read_price_file(asked)
        except LoadingError as error:
            msg = f"sop_prices: {error}"
            raise pytest.UsageError(msg) from None
    if asked == NAME and not has_library():
        msg = (
            f"sop_prices={NAME}: it is not installed\npip install {NAME}, or name a file of prices"
        )
        raise pytest.UsageError(msg)
    return LibraryPrices() if asked in ("", NAME) and has_library() else None
