"""Lines in which something stands in the place of something else: an error, and no traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import event, given, settings
from hypothesis import strategies as st

from pytest_sopbench._sessions.lines import check_shape, seed_of
from pytest_sopbench._sessions.lines import sealed as seal
from pytest_sopbench._sessions.reading.reader import read_session
from pytest_sopbench.cli import main
from pytest_sopbench.errors import SessionFileError

DATA = Path(__file__).parent / "data"
NAMES = ("finished", "cut_short", "shard1", "slim", "trials_gates")
ODD: Sequence[Any] = (
    *(None, True, 1, -1, 10**30, 1e308, float("nan")),
    *("", "x", "2", "\ud800", [], [[]], {}, {"a": 1}),
)

GATES = ("--gate", "tsr=0.1")
GATES_OF_A_COMPARISON = ("--gate", "lost=1")


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield everything in a line that may be another, by what it stands in."""
    keys: Any = {dict: value, list: range(len(value)) if isinstance(value, list) else ()}
    for key in keys.get(type(value), ()):
        yield value, key
        yield from places_in(value[key])


@settings(max_examples=60, deadline=None)
@given(data=st.data(), name=st.sampled_from(NAMES), sealed=st.booleans())
def test_no_command_breaks_on_a_value_of_a_wrong_type(
    data: st.DataObject, name: str, sealed: bool
) -> None:
    lines = (DATA / f"{name}.jsonl").read_text("ascii").splitlines()
    entries = [json.loads(line) for line in lines]
    if sealed:
        entries[0]["schema"] = 2
    at = data.draw(st.integers(0, len(lines) - 1))
    place, key = data.draw(st.sampled_from(list(places_in(entries[at]))))
    place[key] = data.draw(st.sampled_from(ODD))
    # As another program may write it: of a wrong type, and with a right checksum.
    seeds = [0, *[seed_of(str(entries[0].get("identity", "")))] * len(lines)]
    written = [json.dumps(one) for one in entries]
    pairs = zip(written, seeds, strict=False)
    text = [seal(line, seed) if sealed else line.encode() for line, seed in pairs]

    with TemporaryDirectory() as folder:
        path, whole = Path(folder) / "s.jsonl", str(DATA / "finished.jsonl")
        path.write_bytes(b"\n".join(text) + b"\n")
        for command in (
            ("show", str(path)),
            ("report", str(path)),
            ("gate", str(path), *GATES),
            ("gate", str(path), *GATES_OF_A_COMPARISON, "--compare", whole),
            ("compare", whole, str(path), *GATES_OF_A_COMPARISON),
            ("compare", str(path), whole),
            ("flaky", str(path), whole),
            ("approve", str(path), "--baseline", f"{folder}/b.jsonl", "--reason", "r"),
            ("merge", str(path), str(DATA / "shard2.jsonl"), "--out", f"{folder}/m.jsonl"),
        ):
            result = CliRunner().invoke(main, command)

            event(f"{command[0]} {result.exit_code}")
            assert isinstance(result.exception, SystemExit | None), command
            assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"task":"R2"', '"task":{}', "'task' is of a wrong type"),
        ('"trial":1', '"trial":"1"', "'trial' is of a wrong type"),
        ('"duration_s":0.', '"duration_s":NaN,"x":0.', "NaN is no JSON"),
        ('"bad":false', '"bad":2', "'calls.0.bad' is of a wrong type"),
    ],
)
def test_a_line_of_another_shape_is_damaged_and_says_where(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    lines = (DATA / "finished.jsonl").read_text("ascii").splitlines()
    at = next(at for at, line in enumerate(lines) if '"task":"R2"' in line)
    lines[at] = lines[at].replace(old, new)
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(lines) + "\n", "ascii")

    saved = read_session(path)

    assert [at + 1] == [one.number for one in saved.damaged]
    assert why.lower() in saved.damaged[0].why.lower()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"schema":1', '"schema":"1"'),
        ('"trials":1,"some', '"trials":1e400,"some'),
        ('"planned":["R1"', '"planned":[["R1"]'),
    ],
)
def test_a_header_of_another_shape_is_one_clear_error(tmp_path: Path, old: str, new: str) -> None:
    text = (DATA / "finished.jsonl").read_text("ascii")
    assert old in text
    path = tmp_path / "s.jsonl"
    path.write_text(text.replace(old, new, 1), "ascii")

    with pytest.raises(SessionFileError, match=r"s\.jsonl"):
        read_session(path)


def test_half_of_a_surrogate_pair_is_a_text() -> None:
    check_shape("run", {"task": "T\ud800", "text": "\udfff", "calls": [{"error": "\ud800"}]})


def test_a_kind_that_nobody_knows_is_for_others() -> None:
    check_shape("later", {"task": 1})
    check_shape([], {"task": 1})
