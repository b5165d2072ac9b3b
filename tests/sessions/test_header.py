"""The first line of a saved session."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_sopbench._sessions.header import (
    SessionHeader,
    header_from_json,
    header_to_line,
)


def test_a_header_comes_back_from_its_line(header: SessionHeader) -> None:
    line = header_to_line(header)

    assert header == header_from_json(json.loads(line))


def test_a_header_says_first_what_it_is(header: SessionHeader) -> None:
    line = header_to_line(header)

    assert line.startswith('{"type":"header","schema":1,')
    assert line.isascii()
    assert "\n" not in line


def test_a_session_outside_git_has_no_state(header: SessionHeader) -> None:
    bare = replace(header, git=None)

    assert bare == header_from_json(json.loads(header_to_line(bare)))


def test_keys_of_later_versions_are_passed_over(header: SessionHeader) -> None:
    data = json.loads(header_to_line(header))
    data["later"] = 1
    data["domains"]["refunds"]["later"] = 1

    assert header == header_from_json(data)


@pytest.mark.parametrize("key", ["schema", "agent", "domains", "git", "judging", "options"])
def test_a_missing_key_is_named(header: SessionHeader, key: str) -> None:
    data = json.loads(header_to_line(header))
    del data[key]

    with pytest.raises(ValueError, match=key):
        header_from_json(data)


def test_domains_of_another_shape_are_refused(header: SessionHeader) -> None:
    data = json.loads(header_to_line(header))
    data["domains"] = ["refunds"]

    with pytest.raises(ValueError, match="header"):
        header_from_json(data)
