"""A file of prices: what it may say, and one clear error for what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._loading.prices import read_price_file
from pytest_sopbench.errors import LoadingError

GOOD = """
date = 2026-11-01

[models."openai/gpt-5.2-mini"]
input = 0.25
cached = 0.025
output = 2

[models.local]
input = 0
output = 0
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_prices_are_for_a_million_tokens(tmp_path: Path) -> None:
    table = read_price_file(written(tmp_path, GOOD))

    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000, model="openai/gpt-5.2-mini")
    assert 2.25 == table.cost(usage, "")
    assert "prices.toml of 2026-11-01" == table.label


def test_a_price_of_zero_is_a_price(tmp_path: Path) -> None:
    table = read_price_file(written(tmp_path, GOOD))

    assert 0.0 == table.cost(Usage(input_tokens=9, output_tokens=9, model="local"), "")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param(
            "0.25", "-1", 'models."openai/gpt-5.2-mini".input: -1 is no price', id="minus"
        ),
        pytest.param("0.25", "nan", "input: nan is no price", id="nan"),
        pytest.param("0.25", "inf", "input: inf is no price", id="inf"),
        pytest.param("0.25", '"0.25"', "input: '0.25' is no price", id="text"),
        pytest.param("0.25", "true", "input: True is no price", id="boolean"),
        pytest.param("cached", "cache", "did you mean", id="slip"),
        pytest.param("output = 2\n", "", ".output: it is missing", id="no-output"),
        pytest.param("date = 2026-11-01", "", "date: it is missing", id="no-date"),
        pytest.param("2026-11-01", '"November"', "date: 'November' is no date", id="text-date"),
        pytest.param("2026-11-01", "2026-11-01T10:00:00", "is no date", id="time"),
        pytest.param(GOOD, "date = 2026-11-01", "models: no model has a price", id="no-models"),
        pytest.param("date =", "day =", "day: unknown key", id="unknown-key"),
        pytest.param('"openai/gpt-5.2-mini"', "gpt-5.2-mini", "quote the name", id="unquoted"),
        pytest.param("[models.local]", "[models.local", "line", id="no-toml"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = written(tmp_path, GOOD.replace(old, new, 1))

    with pytest.raises(LoadingError) as caught:
        read_price_file(path)

    assert said in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="No such file"):
        read_price_file(tmp_path / "prices.toml")


def test_a_name_that_no_disk_takes_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="cannot be read"):
        read_price_file(tmp_path / ("p" * 300))
