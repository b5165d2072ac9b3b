"""The law of shards: put together they are the session that was never taken apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

TIMES = frozenset(
    {
        "started",
        "duration_s",
        "durations_s",
        "latency_median_s",
        "latency_p95_s",
        "options",
        "identity",
        "crc",
    }
)


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items() if name not in TIMES}
    return [without_times(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("count", [1, 2, 3])
def test_merged_shards_equal_the_whole(pytester: pytest.Pytester, lab: Path, count: int) -> None:
    common = ("--sop-domain=lab", "--sop-agent=habits:fifths_and_sevenths")
    pytester.runpytest(*common, "--sop-save=whole")
    names = [f"part{number}" for number in range(1, count + 1)]
    for number, name in enumerate(names, start=1):
        pytester.runpytest(*common, f"--sop-shard={number}/{count}", f"--sop-save={name}")

    done = CliRunner().invoke(main, ["merge", *reversed(names), "--out", "all"])

    assert 0 == done.exit_code, done.output
    folder = pytester.path / ".sop" / "sessions"
    whole, merged = (
        [without_times(json.loads(line)) for line in (folder / name).read_text().splitlines()]
        for name in ("whole.jsonl", "all.jsonl")
    )
    assert whole == merged
    assert logs(folder / "whole.traces") == logs(folder / "all.traces")


@pytest.mark.usefixtures("lab")
def test_a_shard_that_the_hash_leaves_empty_costs_the_whole_no_gate(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    make_domain("single", tasks=1)
    for number in (1, 2):
        pytester.runpytest(
            *("--sop-domain=single", "--sop-agent=habits:right"),
            *(f"--sop-shard={number}/2", f"--sop-save=part{number}"),
        )
    CliRunner().invoke(main, ["merge", "part1", "part2", "--out", "all"])

    done = CliRunner().invoke(main, ["gate", "all", "--gate=tsr=1"])

    assert ["gate   TSR >= 100% holds (got 100%)"] == done.output.splitlines()
    assert 0 == done.exit_code


def logs(folder: Path) -> list[str]:
    return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*.jsonl"))
