"""Pages on disk: all or none, never half of one, and nothing else is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sopbench._sessions.file.event_logs import add_to_page, write_pages
from pytest_sopbench.errors import SopbenchError


def test_pages_are_written_and_replace_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("something longer")

    write_pages({tmp_path / "a": "é\n", tmp_path / "b": "b"})

    assert "é\n" == (tmp_path / "a").read_text("utf-8")
    assert {"a", "b"} == {one.name for one in tmp_path.iterdir()}


@pytest.mark.parametrize(
    "broken", [pytest.param("gone/page", id="no folder"), pytest.param("folder", id="a folder")]
)
@pytest.mark.parametrize("place", [0, 1])
def test_where_one_cannot_be_written_none_is(tmp_path: Path, broken: str, place: int) -> None:
    (tmp_path / "a").write_text("before")
    (tmp_path / "folder").mkdir()
    paths = [tmp_path / "a"]
    paths.insert(place, tmp_path / broken)

    with pytest.raises(SopbenchError, match=f"{broken}: cannot be written: "):
        write_pages(dict.fromkeys(paths, "after"))

    assert "before" == (tmp_path / "a").read_text()
    assert {"a", "folder"} == {one.name for one in tmp_path.iterdir()}


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "page").symlink_to(tmp_path / "there" / "page")

    write_pages({tmp_path / "page": "x"})

    assert (tmp_path / "page").is_symlink()
    assert "x" == (tmp_path / "there" / "page").read_text()


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("this system has no device that is always full")

    with pytest.raises(SopbenchError, match="No space left"):
        write_pages({tmp_path / "a": "x", full: "x"})

    assert full.is_char_device()
    assert [] == list(tmp_path.iterdir())


def test_half_a_character_is_no_reason_to_lose_a_page(tmp_path: Path) -> None:
    write_pages({tmp_path / "a": "\ud800"})
    add_to_page(tmp_path / "a", "\udfff")

    assert "\\ud800\\udfff" == (tmp_path / "a").read_text()


def test_what_cannot_be_added_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(SopbenchError, match="gone/page: cannot be written: No such file"):
        add_to_page(tmp_path / "gone" / "page", "x")
