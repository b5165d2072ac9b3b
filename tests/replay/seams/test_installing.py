"""What is patched, when, and that all of it is given back."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from replay_stub.asking import library

from pytest_sopbench._replay.seams.installed import SEAMS, Installation, installed
from pytest_sopbench._replay.seams.take import Door, Seam
from pytest_sopbench.errors import CassetteError

PARTS = {
    "httpx": "httpx",
    "httpx2": "httpx2",
    "botocore.httpsession": "botocore",
    "urllib3.connectionpool": "urllib3",
    "aiohttp.client": "aiohttp",
}


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: seam.library)
def test_a_library_has_its_doors_where_we_look_for_them(seam: Seam) -> None:
    """Fails where a release of a library has moved one: then its seam needs another door."""
    library(PARTS[seam.module])

    doors = seam.open(importlib.import_module(seam.module))

    assert doors
    assert all(callable(vars(door.owner)[door.name]) for door in doors)


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: seam.library)
def test_all_that_was_patched_is_given_back(seam: Seam) -> None:
    library(PARTS[seam.module])
    doors = seam.open(importlib.import_module(seam.module))
    before = [vars(door.owner)[door.name] for door in doors]
    path = list(sys.meta_path)

    with installed():
        during = [vars(door.owner)[door.name] for door in doors]
        with installed():
            within = [vars(door.owner)[door.name] for door in doors]
        after_inner = [vars(door.owner)[door.name] for door in doors]

    assert before == [vars(door.owner)[door.name] for door in doors]
    assert during == within == after_inner
    assert not set(map(id, before)) & set(map(id, during))
    assert path == sys.meta_path


def test_what_somebody_else_put_there_since_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    client = library("httpx").Client
    before = client._transport_for_url

    def theirs(self: Any, url: Any) -> Any:
        return before(self, url)

    with installed():
        monkeypatch.setattr(client, "_transport_for_url", theirs)

    assert theirs is client._transport_for_url


class Made:
    """A small library on disk, and its seam."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        (folder / f"{name}.py").write_text(
            "class Client:\n    def send(self):\n        return 'sent'\n"
        )
        self.seam = Seam(module=name, library=name, doors=self._doors)

    def _doors(self, module: Any) -> tuple[Door, ...]:
        return (Door(owner=module.Client, name="send", through=lambda _: lambda _self: "seen"),)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    name = "sop_made_library"
    monkeypatch.syspath_prepend(tmp_path)
    yield Made(tmp_path, name)
    sys.modules.pop(name, None)


def test_a_library_that_is_imported_later_is_seen_from_then_on(made: Made) -> None:
    installation = Installation([made.seam])

    installation.enter()
    module = importlib.import_module(made.name)
    during = module.Client().send()
    installation.leave()

    assert ("seen", "sent") == (during, module.Client().send())


def test_the_module_keeps_its_own_loader(made: Made) -> None:
    installation = Installation([made.seam])

    installation.enter()
    module = importlib.import_module(made.name)
    installation.leave()

    spec = module.__spec__
    assert spec is not None
    assert "SourceFileLoader" == type(spec.loader).__name__
    assert spec.loader is module.__loader__
    assert "class Client" in spec.loader.get_source(made.name)  # type: ignore[union-attr]


def test_nothing_is_imported_for_our_sake(made: Made) -> None:
    installation = Installation([made.seam])

    installation.enter()
    installation.leave()

    assert made.name not in sys.modules


def test_a_moved_door_breaks_no_import_and_is_told(made: Made, tmp_path: Path) -> None:
    (tmp_path / f"{made.name}.py").write_text("__version__ = '9.9'\nclass Client:\n    pass\n")
    installation = Installation([made.seam])

    installation.enter()
    module = importlib.import_module(made.name)
    installation.leave()

    assert isinstance(module, ModuleType)
    [told] = installation.moved
    assert told.startswith(f"{made.name} 9.9 cannot be recorded or replayed: Client has no send")


def test_an_import_that_fails_fails_as_it_does(made: Made, tmp_path: Path) -> None:
    (tmp_path / f"{made.name}.py").write_text("raise ImportError('of its own')\n")
    installation = Installation([made.seam])

    installation.enter()
    try:
        with pytest.raises(ImportError, match="of its own"):
            importlib.import_module(made.name)
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("sop_no_such_library")
    finally:
        installation.leave()

    assert [] == installation.moved


def test_a_watched_library_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    seam = Seam(module="sop_absent_library", library="absent", doors=lambda _: ())
    installation = Installation([seam])

    installation.enter()
    try:
        with pytest.raises(ModuleNotFoundError, match="sop_absent_library"):
            importlib.import_module("sop_absent_library")
    finally:
        installation.leave()


def test_an_old_aiohttp_is_told_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    client = library("aiohttp.client")

    async def _request(self: Any, method: str, url: Any) -> None:
        """Know no middlewares."""

    monkeypatch.setattr(client.ClientSession, "_request", _request)
    [seam] = (seam for seam in SEAMS if seam.library == "aiohttp")

    with pytest.raises(CassetteError, match=r"no client middlewares, which came with 3\.12"):
        seam.open(client)
