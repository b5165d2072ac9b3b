"""The options of a header on disk: kept to the byte, also those that this version does not know."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import share_of
from pytest_sopbench._sessions.file.writer import slim_header
from pytest_sopbench._sessions.header import (
    DomainHeader,
    SessionHeader,
    header_from_json,
    header_to_line,
)

Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]

DATA = Path(__file__).parents[1] / "sessions" / "data"
OLDER = ("cut_short", "finished", "shard1", "shard2", "slim", "trials_gates")

STRANGE = (
    '{"of another version":{"a":[1,null]},"scoring":"exact","trials":"two","failures":"none",'
    '"gates":"tsr=0.9","agents":[1],"judge":3,"doubtful":{"refunds":[]},"setups":"","timeout":1e2,'
    '"selection":[],"prompts":{"a:b":7},"not_evaluated":null,"compare":5,"slim":0,"expired":{},'
    '"variants":[],"replay_misses":4,"prices":null,"must_pass":["no task"],"resumed":"last"}'
)
"""Options of another version, in wrong types, and in an order of their own."""


def header_line(name: str) -> str:
    return (DATA / f"{name}.jsonl").read_text("ascii").partition("\n")[0]


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


@pytest.mark.parametrize("name", OLDER)
def test_a_header_of_an_older_version_is_written_as_it_stood(name: str) -> None:
    line = header_line(name)

    written = header_to_line(header_of(line))

    assert options_in(line) == options_in(written)
    expected = json.loads(line)
    for domain in expected["domains"].values():
        domain |= {"share": None, "comparers": {}}
    assert expected == json.loads(written)


def test_what_is_of_a_wrong_type_or_unknown_stays_as_it_stands() -> None:
    line = header_line("finished").replace(options_in(header_line("finished")), STRANGE)

    written = header_to_line(header_of(line))

    assert STRANGE.replace("1e2", "100.0") == options_in(written)


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
            "later": {"a": 1},
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
        '{"later":{"a":1},"selection":["--sop-tags=a"],"trials":1,"scoring":"exact","failures":3,'
        '"resumed":[{"session":"1"},{"session":"2"}],"prices":"of day 1, of day 2"}'
    ) == kept_options(tmp_path / ".sop" / "sessions" / "all.jsonl")


def test_rescoring_keeps_what_is_not_about_scoring(
    sopbench: Sopbench, refunds: Domain, save: Save, run_of: Make, tmp_path: Path
) -> None:
    options = {"later": [1], "variants": {"x": 1}, "scoring": "exact", "failures": None}
    save("base", [run_of("T1")], options=options)

    result = sopbench("rescore", "base", "--scoring", "published", "--out", "new")

    assert 0 == result.exit_code, result.output
    assert (
        '{"later":[1],"scoring":"published","failures":null,"rescored":"exact"}'
    ) == kept_options(tmp_path / ".sop" / "sessions" / "new.jsonl")
