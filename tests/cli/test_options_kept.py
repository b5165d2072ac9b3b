"""The header of a session on disk, kept to the byte when it is read and written again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Domain
from pytest_sopbench._core.model.task import share_of
from pytest_sopbench._sessions.header import (
    DomainHeader,
    SessionHeader,
    header_from_json,
    header_to_line,
)
from pytest_sopbench._sessions.lines import bare
from pytest_sopbench._sessions.writer import slim_header

Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]

DATA = Path(__file__).parents[1] / "sessions" / "data"
SAVED = ("cut_short", "finished", "shard1", "shard2", "slim", "trials_gates")


def header_line(name: str) -> str:
    return bare((DATA / f"{name}.jsonl").read_bytes().partition(b"\n")[0]).decode()


def header_of(line: str) -> SessionHeader:
    data: dict[str, Any] = json.loads(line)
    return header_from_json(data)


def options_in(line: str) -> str:
    """Return the text of the options in a header's line."""
    start = line.index('"options":') + len('"options":')
    _, end = json.JSONDecoder().raw_decode(line, start)
    return line[start:end]


def kept_options(path: Path) -> str:
    return options_in(path.read_text("ascii").partition("\n")[0])


@pytest.mark.parametrize("name", SAVED)
def test_a_header_is_written_as_it_stood(name: str) -> None:
    line = header_line(name)

    assert line == header_to_line(header_of(line))


def test_a_slim_baseline_says_so_behind_what_its_session_said() -> None:
    header = header_of(header_line("trials_gates"))

    slim = slim_header(header, reason="first")

    before = options_in(header_line("trials_gates"))
    assert f'{before[:-1]},"slim":true,"reason":"first"}}' == options_in(header_to_line(slim))


def test_merging_keeps_what_shards_have_in_common(
    sopbench: Sopbench, save: Save, run_of: Make, tmp_path: Path
) -> None:
    pool = ("T1", "T2", "T3", "T4")
    for number, tasks in ((1, ("T4", "T2")), (2, ("T1", "T3"))):
        options = {
            "selection": ["--sop-tags=a", f"--sop-shard={number}/2"],
            "trials": 1,
            "scoring": "exact",
            "failures": number,
            "resumed": [{"session": str(number)}],
            "prices": f"of day {number}",
        }
        share = share_of(pool, number, 2)
        domains = {"refunds": DomainHeader(sop="s", planned=tasks, share=share)}
        save(f"part{number}", [*map(run_of, tasks)], options=options, domains=domains)

    sopbench("merge", "part1", "part2", "--out", "all")

    assert (
        '{"selection":["--sop-tags=a"],"trials":1,"gates":[],"max_calls":null,"concurrency":null,'
        '"timeout":null,"retries":null,"scoring":"exact","contract":"","approver":"","failures":3,'
        '"resumed":[{"session":"1"},{"session":"2"}],"prices":"of day 1, of day 2"}'
    ) == kept_options(tmp_path / ".sop" / "sessions" / "all.jsonl")


def test_rescoring_keeps_what_is_not_about_scoring(
    sopbench: Sopbench, refunds: Domain, save: Save, run_of: Make, tmp_path: Path
) -> None:
    options = {
        "variants": {"refunds": {"a": {"x": {"T1": "wrong"}}}},
        "scoring": "exact",
        "failures": None,
    }
    save("base", [run_of("T1")], options=options)

    result = sopbench("rescore", "base", "--scoring", "published", "--out", "new")

    assert 0 == result.exit_code, result.output
    assert (
        '{"selection":[],"trials":null,"gates":[],"max_calls":null,"concurrency":null,'
        '"timeout":null,"retries":null,"scoring":"published","contract":"","approver":"",'
        '"failures":null,"rescored":"exact"}'
    ) == kept_options(tmp_path / ".sop" / "sessions" / "new.jsonl")
