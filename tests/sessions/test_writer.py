"""A session on disk, at every moment of its life."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import event, given, settings
from hypothesis import strategies as st

from pytest_sopbench import Domain, Outcome, RunKey, RunRecord, load_session
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.record import to_line
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._sessions import writer as module
from pytest_sopbench._sessions.commands.page import row_places
from pytest_sopbench._sessions.header import SessionHeader, header_to_line
from pytest_sopbench._sessions.lines import bare, read_line, sealed, seed_of
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.writer import SessionWriter, sealed_session
from pytest_sopbench.cli import main
from pytest_sopbench.errors import SessionFileError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".sop" / "sessions" / "last.jsonl"


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def tasks_of(path: Path) -> list[object]:
    return [line["task"] for line in lines_of(path) if line["type"] == "run"]


def test_the_header_stands_in_the_file_at_once(path: Path, header: SessionHeader) -> None:
    with_header = SessionWriter(path, header)

    assert sealed(header_to_line(header)) + b"\n" == path.read_bytes()
    with_header.close()


def test_each_line_is_in_the_file_as_soon_as_it_is_given(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, header)

    for number, record in enumerate(records, start=1):
        writer.append(to_line(record))

        assert len(lines_of(path)) == 1 + number
    writer.close()


def test_the_end_puts_runs_into_the_order_of_the_plan(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, header)
    for record in reversed(records):
        writer.append(to_line(record))

    writer.finish([record.key for record in records], {"refunds": summary_of(records)})

    assert ["header", "run", "run", "run", "summary"] == [one["type"] for one in lines_of(path)]
    assert ["T1", "T2", "T3"] == tasks_of(path)
    assert lines_of(path)[-1]["domains"]["refunds"]["tsr"] == 1.0  # type: ignore[index]  # JSON
    assert writer.closed


def test_the_last_line_of_a_key_wins(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, header)
    writer.append(to_line(replace(records[0], outcome=Outcome.CRASH)))
    writer.append(to_line(records[1]))
    writer.append(to_line(records[0]))

    writer.finish([record.key for record in records], {})

    assert [records[0], records[1]] == list(read_session(path).records)


def test_runs_outside_the_plan_follow_in_the_order_of_arrival(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, header)
    for task in ("X2", "T1", "X1"):
        writer.append(to_line(replace(records[0], task=task)))

    writer.finish([RunKey("refunds", "T1"), RunKey("refunds", "T2")], {})

    assert ["T1", "X2", "X1"] == tasks_of(path)


def test_trials_and_agents_are_runs_of_their_own(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    runs = [replace(records[0], trial=trial, agent=agent) for trial in (1, 2) for agent in "ab"]
    writer = SessionWriter(path, header)
    for run in runs:
        writer.append(to_line(run))

    writer.finish((run.key for run in reversed(runs)), {})

    assert runs[::-1] == list(read_session(path).records)


def test_a_line_whose_keys_stand_in_another_order_is_understood(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, header)
    for record in reversed(records):
        writer.append(json.dumps(dict(reversed(json.loads(to_line(record)).items()))))

    writer.finish([record.key for record in records], {})

    assert ["T1", "T2", "T3"] == tasks_of(path)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(1, 3)),
        max_size=8,
    ),
    st.data(),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, keys: list[tuple[str, int]], data: st.DataObject
) -> None:
    """A round trip, whatever tasks are called and in whatever order they end."""
    runs = [
        RunRecord(domain='a"\\', task=task, trial=trial, outcome=Outcome.WRONG, reason=str(number))
        for number, (task, trial) in enumerate(keys)
    ]
    last = {run.key: run for run in runs}
    order = data.draw(st.permutations(list(last)))
    path = tmp_path_factory.mktemp("session") / "s.jsonl"
    writer = SessionWriter(path, SessionHeader(plugin="", agent="", started="", judging=""))
    for run in runs:
        writer.append(to_line(run))

    counted = {'a"\\': summary_of(last.values())} if runs else {}
    writer.finish(order, counted)

    saved = read_session(path)
    assert [last[key] for key in order] == list(saved.records)
    assert counted == saved.summaries
    assert not saved.problems


def test_the_session_is_kept_under_its_second_name(
    path: Path, tmp_path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    kept = tmp_path / "committed" / "base.jsonl"
    writer = SessionWriter(path, header, kept=kept)
    writer.append(to_line(records[0]))
    assert not kept.exists()

    writer.finish([], {})

    assert path.read_bytes() == kept.read_bytes()


def test_a_kept_session_is_never_replaced(
    path: Path, tmp_path: Path, header: SessionHeader
) -> None:
    kept = tmp_path / "base.jsonl"
    kept.write_text("precious", "utf-8")

    with pytest.raises(SessionFileError, match="kept there already"):
        SessionWriter(path, header, kept=kept)

    assert kept.read_text("utf-8") == "precious"
    assert not path.exists()


def test_a_session_kept_meanwhile_is_not_replaced_either(
    path: Path, tmp_path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    kept = tmp_path / "base.jsonl"
    writer = SessionWriter(path, header, kept=kept)
    writer.append(to_line(records[0]))
    kept.write_text("precious", "utf-8")

    with pytest.raises(SessionFileError, match="kept there already"):
        writer.finish([], {})

    assert kept.read_text("utf-8") == "precious"
    assert len(lines_of(path)) == 3


def test_the_last_session_is_replaced(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    for record in records[:2]:
        writer = SessionWriter(path, header)
        writer.append(to_line(record))
        writer.finish([], {})

    assert ["T2"] == tasks_of(path)


def test_two_sessions_at_once_leave_one_whole_file(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    first = SessionWriter(path, header)
    first.append(to_line(records[0]))
    second = SessionWriter(path, header)
    second.append(to_line(records[1]))
    first.append(to_line(records[2]))

    second.finish([], {})
    assert ["T2"] == tasks_of(path)
    first.finish([], {})

    assert ["T1", "T3"] == tasks_of(path)


def test_a_session_whose_header_is_written_anew_at_its_end_is_read_back(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, header)
    for record in records:
        writer.append(to_line(record))
    now = replace(header, options=replace(header.options, failures=1))

    writer.finish([record.key for record in records], {"refunds": summary_of(records)}, now)

    saved = read_session(path)
    assert now == saved.header
    assert (tuple(records), ()) == (saved.records, saved.problems)


def test_the_folder_of_sessions_ignores_itself_in_git(path: Path, header: SessionHeader) -> None:
    ignored = path.parent.parent / ".gitignore"

    SessionWriter(path, header).close()
    assert ignored.read_text("utf-8") == "*\n"
    ignored.write_text("mine\n", "utf-8")
    SessionWriter(path, header).close()

    assert ignored.read_text("utf-8") == "mine\n"


def test_other_folders_are_left_to_the_user(tmp_path: Path, header: SessionHeader) -> None:
    SessionWriter(tmp_path / "kept" / "s.jsonl", header).close()

    assert ["s.jsonl"] == [file.name for file in (tmp_path / "kept").iterdir()]


def test_no_temporary_file_stays(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, header, kept=path.with_name("kept.jsonl"))
    writer.append(to_line(records[0]))
    writer.finish([], {})

    assert {"last.jsonl", "kept.jsonl"} == {file.name for file in path.parent.iterdir()}


@pytest.mark.parametrize("which", ["path", "kept"])
def test_a_place_that_cannot_be_written_is_told_before_anything_runs(
    tmp_path: Path, header: SessionHeader, which: str
) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    places = {"path": tmp_path / "last.jsonl", "kept": None}
    places[which] = tmp_path / "file" / "s.jsonl"

    with pytest.raises(SessionFileError, match="cannot be written") as raised:
        SessionWriter(places["path"] or tmp_path, header, kept=places["kept"])

    assert "sop_dir" in str(raised.value)
    assert not (tmp_path / "last.jsonl").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told(
    path: Path, header: SessionHeader, records: list[RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = SessionWriter(path, header)
    writer.close()
    monkeypatch.setattr(writer, "_file", Path("/dev/full").open("r+b"))  # noqa: SIM115 - the writer closes it

    with pytest.raises(SessionFileError, match="No space left"):
        writer.append(to_line(records[0]))

    assert writer.closed


def test_the_end_fails_without_losing_what_was_appended(
    path: Path, header: SessionHeader, records: list[RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = SessionWriter(path, header)
    writer.append(to_line(records[0]))

    def refuse(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "summary_to_line", refuse)

    with pytest.raises(SessionFileError, match="No space left"):
        writer.finish([], {})

    assert ["T1"] == tasks_of(path)
    assert ["last.jsonl"] == [file.name for file in path.parent.iterdir()]
    assert writer.closed


def test_a_line_that_the_disk_cut_short_is_left_out_at_the_end(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, header)
    writer.append(to_line(records[0]))
    with path.open("ab") as file:
        file.write(b'{"type":"run","domain":"refu')

    writer.finish([], {})

    assert ["T1"] == tasks_of(path)


def test_the_disk_is_asked_to_keep_lines_each_second(
    path: Path, header: SessionHeader, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 0.5, 1.0, 1.0, 1.9, 2.0, 2.0])
    writer = SessionWriter(path, header, clock=lambda: next(times))
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)

    counts = []
    for number in range(4):
        writer.append(f'{{"number":{number}}}')
        counts.append(len(synced))

    assert counts == [0, 1, 1, 2]
    writer.close()
    writer.close()
    assert len(synced) == 3


def test_a_killed_session_is_readable(tmp_path: Path) -> None:
    """Whatever was appended before a kill that nobody can catch is there."""
    program = f"""
import os
from pathlib import Path
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.records.record import to_line
from pytest_sopbench._sessions.lines import sealed
from pytest_sopbench._sessions.header import SessionHeader
from pytest_sopbench._sessions.writer import SessionWriter
header = SessionHeader(plugin="", agent="", started="", judging="")
writer = SessionWriter(Path({str(tmp_path / "s.jsonl")!r}), header)
for number in range(5):
    writer.append(to_line(RunRecord(domain="d", task=str(number), outcome=Outcome.WRONG)))
os._exit(9)
"""

    done = subprocess.run([sys.executable, "-c", program], check=False)

    assert done.returncode == 9
    saved = read_session(tmp_path / "s.jsonl")
    assert ["0", "1", "2", "3", "4"] == [record.task for record in saved.records]
    assert saved.summaries is None


def emptied(data: bytes) -> bytes:
    return b""


def halved(data: bytes) -> bytes:
    return data[: len(data) // 2]


def without_header(data: bytes) -> bytes:
    return data.partition(b"\n")[2]


@pytest.mark.parametrize("change", [emptied, halved, without_header])
def test_a_file_that_something_else_has_cut_is_not_called_whole(
    path: Path,
    header: SessionHeader,
    records: list[RunRecord],
    change: Callable[[bytes], bytes],
) -> None:
    writer = SessionWriter(path, header)
    for record in records:
        writer.append(to_line(record))
    changed = change(path.read_bytes())
    path.write_bytes(changed)

    with pytest.raises(SessionFileError, match="something else has written into it"):
        writer.finish([one.key for one in records], {})

    assert changed == path.read_bytes()


def test_lines_that_nobody_of_us_wrote_are_left_out(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, header)
    for record in records:
        writer.append(to_line(record))
    with path.open("ab") as file:
        file.write(b"\x00\xff{}[]\n{}\n[1]\n" + b"[" * 10_000 + b"\n")

    writer.finish([one.key for one in records], {"refunds": summary_of(records)})

    saved = read_session(path)
    assert saved.finished
    assert () == saved.problems
    assert tuple(records) == saved.records


# Lines in which something stands in the place of something else: an error, and no traceback.

DATA = Path(__file__).parent / "data"
NAMES = ("finished", "cut_short", "shard1", "slim", "trials_gates")
ODD: Sequence[Any] = (
    *(None, True, 1, -1, 10**30, 1e308, float("nan")),
    *("", "x", "2", "\ud800", [], [[]], {}, {"a": 1}),
)


def bare_lines(name: str) -> list[str]:
    """Return the lines of a session without their checksums."""
    return [bare(line).decode() for line in (DATA / f"{name}.jsonl").read_bytes().splitlines()]


def sealed_lines(lines: Sequence[str]) -> bytes:
    """Return a session as another program may write it: each line with a right checksum."""
    try:
        identity = str(json.loads(lines[0]).get("identity", ""))
    except ValueError:
        identity = ""
    seeds = [0, *[seed_of(identity)] * len(lines)]
    return b"".join(sealed(one, seed) + b"\n" for one, seed in zip(lines, seeds, strict=False))


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield everything in a line that may be another, by what it stands in."""
    keys: Any = {dict: value, list: range(len(value)) if isinstance(value, list) else ()}
    for key in keys.get(type(value), ()):
        yield value, key
        yield from places_in(value[key])


WHOLE = str(DATA / "finished.jsonl")
COMMANDS = (
    ("show", "./odd.jsonl"),
    ("report", "./odd.jsonl"),
    ("gate", "./odd.jsonl", "--gate", "tsr=0.1"),
    ("gate", "./odd.jsonl", "--gate", "lost=1", "--compare", WHOLE),
    ("compare", WHOLE, "./odd.jsonl", "--gate", "lost=1"),
    ("compare", "./odd.jsonl", WHOLE),
    ("compare", "--flaky", "./odd.jsonl", WHOLE),
    ("approve", "./odd.jsonl", "--baseline", "b.jsonl", "--reason", "r"),
    ("merge", "./odd.jsonl", str(DATA / "shard2.jsonl"), "--out", "m.jsonl"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
@settings(max_examples=40, deadline=None)
@given(data=st.data(), name=st.sampled_from(NAMES))
def test_no_command_breaks_on_a_value_of_a_wrong_type(
    command: tuple[str, ...], data: st.DataObject, name: str
) -> None:
    lines = bare_lines(name)
    entries = [json.loads(line) for line in lines]
    at = data.draw(st.integers(0, len(lines) - 1))
    place, key = data.draw(st.sampled_from(list(places_in(entries[at]))))
    place[key] = data.draw(st.sampled_from(ODD))

    with TemporaryDirectory() as folder, chdir(folder):
        Path("./odd.jsonl").write_bytes(sealed_lines([json.dumps(one) for one in entries]))
        result = CliRunner().invoke(main, command)

    event(f"{command[0]} {result.exit_code}")
    assert isinstance(result.exception, SystemExit | None)
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
    lines = bare_lines("finished")
    at = next(at for at, line in enumerate(lines) if '"task":"R2"' in line)
    lines[at] = lines[at].replace(old, new)
    path = tmp_path / "s.jsonl"
    path.write_bytes(sealed_lines(lines))

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
    first, *others = bare_lines("finished")
    assert old in first
    path = tmp_path / "s.jsonl"
    path.write_bytes(sealed_lines([first.replace(old, new, 1), *others]))

    with pytest.raises(SessionFileError, match=r"s\.jsonl"):
        read_session(path)


def test_a_kind_that_nobody_knows_is_for_others() -> None:
    assert {"task": 1} == read_line("later", {"task": 1}) == read_line([], {"task": 1})


# A saved session as a table, where pandas is installed.

# At once, since pytester takes back what is imported later, and numpy cannot be loaded again.
pandas = pytest.importorskip("pandas")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    header = SessionHeader(plugin="", agent="a:b", started="", judging="")
    records = [
        RunRecord(
            domain="d",
            task="T1",
            agent="a:b",
            outcome=Outcome.CORRECT,
            answer={"grade": "A"},
            expected={"grade": "A"},
            duration_s=0.5,
            usage=Usage(input_tokens=3),
        ),
        RunRecord(domain="d", task="T2", agent="a:b", outcome=Outcome.NOT_RUN, reason="never"),
    ]
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(sealed_session(header, map(to_line, records))))
    return path


def test_a_table_has_one_row_for_each_run(saved: Path) -> None:
    frame = load_session(saved).to_dataframe()

    assert [
        "domain",
        "task",
        "trial",
        "agent",
        "outcome",
        "correct",
        "expected_calls",
        "reason",
        "fields",
        "answer.grade",
        "right.grade",
        "calls",
        "duration_s",
        "input_tokens",
        "cached_tokens",
        "cache_write_tokens",
        "output_tokens",
        "reasoning_tokens",
        "model_calls",
        "cost_usd",
        "model",
    ] == list(frame.columns)
    assert ["correct", "not_run"] == list(frame["outcome"])
    assert [True, False] == list(frame["correct"])
    assert [True] == list(frame["right.grade"].dropna())
    assert [1.0] == list(frame["fields"].dropna())
    assert [0.5] == list(frame["duration_s"].dropna())
    assert pandas.isna(frame["answer.grade"][1])


def test_a_session_without_runs_is_a_table_without_rows(saved: Path) -> None:
    saved.write_text(saved.read_text().splitlines()[0] + "\n")

    frame = load_session(saved).to_dataframe()

    assert 0 == len(frame)
    assert "outcome" in frame.columns


# Where rows of tasks lie, as a reviewer on GitHub sees them.

TASK = TaskName("lab", "T2")


def domain_in(folder: Path) -> Domain:
    folder = folder / "lab"
    folder.mkdir(parents=True)
    described = {"name": "lab", "input_columns": ["id"], "output_columns": ["grade"]}
    (folder / "metadata.json").write_text(json.dumps(described))
    (folder / "sop.txt").write_text("Grade it.")
    (folder / "toolspecs.json").write_text("[]")
    (folder / "data.csv").write_text('id,grade\nT1,"a\nb"\nT2,c\n')
    return load_domain(folder)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return tmp_path / "repo"


def test_a_path_starts_at_the_top_of_the_repository_and_a_line_is_an_editors(
    repository: Path,
) -> None:
    domain = domain_in(repository / "service" / "domains")

    places = row_places([domain], {TASK, TaskName("lab", "gone")}, repository / "service", {})

    assert {TASK: ("service/domains/lab/data.csv", 4)} == places


@pytest.mark.parametrize("folder", [".venv/lib/domains", "env/lib/site-packages/ours"])
def test_what_is_installed_into_a_repository_is_not_of_it(repository: Path, folder: str) -> None:
    assert {} == row_places([domain_in(repository / folder)], {TASK}, repository, {})


def test_what_lies_elsewhere_has_no_place(repository: Path, tmp_path: Path) -> None:
    assert {} == row_places([domain_in(tmp_path / "other")], {TASK}, repository, {})


def test_without_git_the_workspace_of_the_runner_is_the_top(tmp_path: Path) -> None:
    domain = domain_in(tmp_path / "work" / "service" / "domains")
    given = {"GITHUB_WORKSPACE": str(tmp_path / "work")}

    places = row_places([domain], {TASK}, tmp_path / "work" / "service", given)

    assert "service/domains/lab/data.csv" == places[TASK].path


def test_without_either_the_project_is_the_top(tmp_path: Path) -> None:
    domain = domain_in(tmp_path / "work" / "domains")

    places = row_places([domain], {TASK}, tmp_path / "work", {})

    assert "domains/lab/data.csv" == places[TASK].path
