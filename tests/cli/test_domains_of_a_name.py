"""Domains of a project that are called like one of ours: which of them did a session run?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench import Domain
from pytest_sopbench._cli.found_domains import domains_of, readable_domains
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._sessions.header import DomainHeader
from pytest_sopbench.errors import DomainNotFoundError

NAME = "patient_intake"


@pytest.fixture
def own(refunds: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Domain:
    """A domain of the project that is called like a bundled one."""
    folder = refunds.folder.rename(tmp_path / "domains" / NAME)
    metadata = json.loads((folder / "metadata.json").read_text("utf-8"))
    (folder / "metadata.json").write_text(json.dumps({**metadata, "name": NAME}), "utf-8")
    monkeypatch.chdir(tmp_path)
    return load_domain(folder)


def ours() -> Domain:
    import pytest_sopbench.bundled  # noqa: PLC0415 - only its place is asked for

    return load_domain(Path(next(iter(pytest_sopbench.bundled.__path__))) / NAME)


def test_the_domain_is_taken_that_the_session_ran(own: Domain) -> None:
    for domain in (own, ours()):
        found = domains_of([NAME], (), {NAME: DomainHeader(**domain.hashes)})

        assert {NAME: domain.folder} == {name: one.folder for name, one in found.items()}


def test_a_domain_whose_rows_have_changed_since_is_still_the_more_alike(own: Domain) -> None:
    header = DomainHeader(**{**own.hashes, "data": "another"})

    found = domains_of([NAME], (), {NAME: header})

    assert own.folder == found[NAME].folder


def test_where_none_is_like_what_was_run_it_is_told_where_they_are(own: Domain) -> None:
    with pytest.raises(DomainNotFoundError, match="found in 2 places, and none is like") as told:
        domains_of([NAME], (), {NAME: DomainHeader()})

    assert str(own.folder) in str(told.value)
    assert "say which: --domain PATH" in str(told.value)
    assert {} == readable_domains([NAME], (), {NAME: DomainHeader()})


def test_a_place_that_is_given_wins(own: Domain) -> None:
    found = domains_of([NAME], (str(own.folder),), {NAME: DomainHeader(**ours().hashes)})

    assert own.folder == found[NAME].folder


def test_a_session_of_such_a_domain_is_rescored(
    own: Domain, sopbench: Callable[..., Any], save: Callable[..., Path], run_of: Callable[..., Any]
) -> None:
    hashes = {**own.hashes, "planned": ("T1",)}
    save("base", [run_of(domain=NAME)], domains={NAME: DomainHeader(**hashes)})

    result = sopbench("rescore", "base", "--scoring", "published")

    assert 0 == result.exit_code, result.output
    assert NAME in result.output
