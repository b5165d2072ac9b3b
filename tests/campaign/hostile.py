"""Hostile texts in every place that a text comes from, before everything that shows one."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from builders.lab import lab_metadata
from markdown_it import MarkdownIt

from campaign.kit import (
    Ended,
    excerpt,
    lines,
    run_pytest,
    run_sopbench,
    sessions,
    traceback_of_ours,
    write_lab,
)

COMMAND: Final = re.compile(r"(?:\A|[\r\n])[^\S\r\n]*::\S|##(?:\[|vso\[|teamcity\[)", re.IGNORECASE)
"""What a CI server takes for a command: GitHub at the start of a line, others anywhere."""

CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""What moves the cursor of a terminal or turns the order of letters."""

FORMULA: Final = re.compile(r"[\s\"]*[=+@\t\r-](?![0-9.]+\Z)")
"""What begins a formula of a spreadsheet, and is no number."""

ANNOTATIONS: Final = 10
ANNOTATION: Final = re.compile(
    r"::(?:error|warning) (?:file=[^:,]+,line=[0-9]+,)?title=[^:,\r\n]*::(.+)"
)

COLOURS: Final = re.compile("\x1b\\[[0-9;:]*m")

TEXTS: Final[Mapping[str, str]] = {
    "title of a terminal": "a\x1b]0;PWNED\x07b",
    "clears the screen": "a\x1b[2J\x1b[Hb",
    "moves up": "a\x1b[5A\x1b[Kb",
    "colours": "\x1b[31;1mred\x1b[0m",
    "a link of a terminal": "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "C1 controls": "a\x9b31mb\x9d0;x\x9cc",
    "carriage return": "good\rbad",
    "backspaces": "good\x08\x08\x08\x08bad",
    "bell and delete": "a\x07b\x7fc",
    "vertical tab, form feed": "a\x0bb\x0cc",
    "NUL": "a\x00b",
    "right to left": "a\u202edcb\u202c",
    "isolates": "a\u2066b\u2069c\u200fd",
    "line separator": "a\u2028::error::PWN",
    "paragraph separator": "a\u2029::error::PWN",
    "next line": "a\x85::error::PWN",
    "half a surrogate pair": "a\ud800b",
    "the other half": "\udfffb",
    "newline": "a\nb",
    "error of GitHub": "a\n::error::PWN",
    "blanks before a command": "a\n \t ::add-mask::x",
    "CRLF before a command": "a\r\n::set-output name=x::y",
    "command at once": "::stop-commands::x",
    "older command of GitHub": "a ##[error]PWN",
    "command of Azure": "##vso[task.setvariable variable=x]y",
    "command of TeamCity": "##teamcity[testFailed name='x']",
    "end of a script": "</script><script>alert(1)</script>",
    "an image": "<img src=x onerror=alert(1)>",
    "end of CDATA": "]]></failure><failure>",
    "entities": "&lt;b&gt; &#0; &bogus;",
    "Markdown": "# x\n| a | b |\n|---|---|\n[x](javascript:alert(1)) `b` **c** ~~d~~ @team #1",
    "an image of Markdown": "![x](http://evil.example/?q=1) <http://evil.example>",
    "a fence": "```\n</details>\n```",
    "formula": '=HYPERLINK("http://evil.example","x")',
    "formula with a sign": "+1+cmd|'/C calc'!A0",
    "path": "../../../outside",
    "absolute path": "/outside/of/all",
    "path of another system": "..\\..\\outside:stream",
    "braces": "{0.__class__} %s %(x)s ${x} $(id) `id`",
    "quotes": "a'b\"c\\",
    "very long": "long " * 3_000,
    "very long word": "w" * 12_000,
    "emoji and accents": "é\u0301☃\U0001f4a9",
    "brackets of an id": "x[1]::y[",
}

AGENT: Final = r"""
import json
import logging
import warnings

TEXTS = json.load(open("texts.json"))
SIGNS = "".join(chr(one) for one in (*range(9), *range(11, 32), *range(127, 160)))


def agent(inputs, tools, key=""):
    number, habit = inputs["reading"], inputs["habit"]
    text = TEXTS[number]
    # What an agent itself prints keeps its colours and cursors, as everywhere in pytest.
    shown = "".join(one for one in text if one.isprintable() or one == "\n")
    print(shown)
    print(key.translate({ord(one): "" for one in SIGNS}).encode("ascii", "ignore").decode())
    logging.getLogger("agent").warning("%s", shown)
    warnings.warn(shown or "empty")
    tools.report(messages=[{"role": text, text: text}])
    tools.record_approval(text, by=text)
    for name, arguments in ((text, {text: text}), ("measure", {"sample_id": text, "x": [text]})):
        try:
            tools.call(name, **arguments)
        except Exception as error:
            held = error
    if habit == "raises":
        found = type("E" + text.replace("\0", ""), (Exception,), {})(text)
        found.add_note(text)
        raise found from held
    if habit == "declares":
        return {"success": False, "error": text}
    if habit == "says":
        return f"{text}\n<grade>{text}</grade>\n{text}"
    tools.execute_tool("measure", {"sample_id": inputs["sample_id"]})
    return {"grade": text, text: text}
"""

TESTS: Final = """
import json

TEXTS = json.load(open("texts.json"))


def test_own(sop_run):
    text = TEXTS[sop_run.task.inputs["reading"]]
    sop_run.assert_called(text, times=9)


def test_text(sop_run):
    assert TEXTS[sop_run.task.inputs["reading"]] == sop_run.answer


def test_approved(sop_run, sop_snapshot):
    assert sop_run.trajectory == sop_snapshot
"""

HABITS: Final = ("raises", "declares", "says", "answers")


@dataclass(frozen=True, slots=True)
class Surface:
    """Something that shows texts: it runs what it needs, and yields what is wrong."""

    name: str
    look: Callable[[Path, Sequence[str]], Iterator[str]]


def try_texts(surface: Surface, texts: Sequence[str], folder: Path) -> str | None:
    """Have one surface show texts, and return what is wrong, or None."""
    home = folder / "above" / "project"
    home.mkdir(parents=True)
    _write_project(home, texts)
    before = {*folder.rglob("*")}
    faults = [*surface.look(home, texts)]
    allowed = (".sop", ".pytest_cache", "__pycache__", "out", "sop_snapshots")
    faults += [
        f"a file outside of its folder: {path}"
        for path in {*folder.rglob("*")} - before
        if not (path.is_relative_to(home) and path.relative_to(home).parts[0] in allowed)
    ]
    return "\n".join(faults) or None


def _write_project(home: Path, texts: Sequence[str]) -> None:
    folder = write_lab(home)
    (home / "out").mkdir()
    (home / "texts.json").write_text(json.dumps(texts))
    (home / "hostile.py").write_text(AGENT, "utf-8")
    (home / "test_own.py").write_text(TESTS, "utf-8")
    data = {
        **lab_metadata(),
        # Half of a surrogate pair is refused in what a user writes.
        "title": f"Grading {_key(texts)}",
        "input_columns": ["sample_id", "reading", "habit"],
        "outputs": {"grade": {"type": "text"}},
        "tools": {"measure": {"key": ["sample_id"], "returns": ["note"]}},
    }
    (folder / "metadata.json").write_text(json.dumps(data))
    (folder / "data.csv").unlink()
    rows = [
        {
            "task_id": _task(text, number, habit),
            "sample_id": f"{_character(text)} {number}{habit[0]}",
            "reading": number,
            "habit": habit,
            "note": _character(text),
            "grade": f"not {_character(text)}",
        }
        for number, text in enumerate(texts)
        for habit in HABITS
    ]
    (folder / "tasks.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))


def _task(text: str, number: int, habit: str) -> str:
    return f"{_character(text)[:300]} {number}{habit[0]}"


def _character(text: str) -> str:
    """Return a text as a user may write it; half of a surrogate pair only an agent returns."""
    return text.encode("utf-8", "ignore").decode()


def _key(texts: Sequence[str]) -> str:
    """All texts as an argument of the agent, as far as an argument of a process may hold them."""
    said = " ".join(one[:200] for one in texts).replace("\0", "")
    return said.encode("utf-8", "ignore").decode()


def session(home: Path, texts: Sequence[str], *more: str, env: Mapping[str, str] = {}) -> Ended:
    return run_pytest(
        home, "-psyrupy", "--color=no", "--sop-domain=lab", "--sop-agent=hostile:agent",
        f"--sop-agent-arg=key={_key(texts)}", *more, env=env, xdist=True,
    )  # fmt: skip


def stream_faults(ended: Ended, *, statuses: Sequence[int] = (1,)) -> Iterator[str]:
    """Say what a stream holds that it should not."""
    if fault := traceback_of_ours(ended.text):
        yield fault
    elif ended.status not in statuses:
        yield excerpt(ended)
    for name, stream in (("stdout", ended.out), ("stderr", ended.err)):
        # What only colours is kept in what pytest shows of a failed assertion.
        text = COLOURS.sub("", stream)
        for kind, pattern in (("command", COMMAND), ("control character", CONTROL)):
            if found := pattern.search(text):
                place = found.start()
                yield f"a {kind} in {name}: {text[max(0, place - 200) : place + 100]!r}"


def _terminal(*options: str) -> Callable[[Path, Sequence[str]], Iterator[str]]:
    def look(home: Path, texts: Sequence[str]) -> Iterator[str]:
        ended = session(home, texts, *options)
        yield from stream_faults(ended)
        if not sessions(home):
            yield f"no session: {excerpt(ended)}"

    return look


def _files(home: Path, texts: Sequence[str]) -> Iterator[str]:
    """JUnit XML, two pages of Markdown, CSV, JSON, annotations, the session and its logs."""
    summary = home / "out" / "summary.md"
    ended = session(
        home, texts, "-q", "--junitxml=out/junit.xml", "--sop-report=md=out/page.md",
        "--sop-report=md=github", "--sop-report=csv=out/runs.csv",
        "--sop-report=json=out/session.json", "-osop_traces=all", "-ojunit_family=xunit1",
        "domains/lab/tasks.jsonl", "test_own.py", env={"GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip
    yield from stream_faults(ended)
    yield from _junit_faults(home / "out" / "junit.xml", len(texts) * len(HABITS))
    for page in (home / "out" / "page.md", summary):
        yield from markdown_faults(page.name, page.read_text("utf-8"))
    yield from _table_faults(home / "out" / "runs.csv", len(texts) * len(HABITS))
    yield from _document_faults(home / "out" / "session.json")
    yield from _annotation_faults(home)
    saved = sessions(home)[-1]
    ids = [one["task"] for one in lines(saved) if one["type"] == "run"]
    expected = [_task(text, number, habit) for number, text in enumerate(texts) for habit in HABITS]
    if ids != expected:
        yield f"the session has other tasks: {ids!r:.500}"
    for log in saved.with_suffix(".traces").rglob("*.jsonl"):
        for line in log.read_text("ascii").splitlines():
            json.loads(line)


def _junit_faults(path: Path, tasks: int) -> Iterator[str]:
    text = path.read_text("utf-8")
    cases = ET.fromstring(text).findall(".//testcase")  # noqa: S314 - it was written here
    if len(cases) != tasks * 4:
        yield f"{path.name} has {len(cases)} tests of {tasks * 4}"
    if found := COMMAND.search(text):
        yield f"a command in {path.name}: {text[max(0, found.start() - 200) : found.end() + 80]!r}"


def _table_faults(path: Path, runs: int) -> Iterator[str]:
    """Say what a table of runs holds that a spreadsheet, or a job that prints it, would obey."""
    text = path.read_text("utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    if not len(rows) == text.count("\n") == runs + 1 or len({len(row) for row in rows}) != 1:
        yield f"{path.name} has {len(rows)} rows on {text.count(chr(10))} lines for {runs} runs"
    for one in (one for row in rows for one in row):
        if FORMULA.match(one):
            yield f"a formula in {path.name}: {one!r:.200}"
    yield from _plain_faults(path.name, text)


def _document_faults(path: Path) -> Iterator[str]:
    text = path.read_text("ascii")
    json.loads(text)
    yield from _plain_faults(path.name, text)


def _annotation_faults(home: Path) -> Iterator[str]:
    """Say which line of the annotations is not one of them."""
    ended = run_sopbench(home, "report", "last", "--to=annotations")
    told = ended.out.splitlines()
    if ended.status or not 0 < len(told) <= ANNOTATIONS:
        yield excerpt(ended)
    for line in told:
        found = ANNOTATION.fullmatch(line)
        if not found or CONTROL.search(line) or COMMAND.search(found[1]):
            yield f"no annotation: {line!r:.300}"


def _plain_faults(name: str, text: str) -> Iterator[str]:
    for kind, pattern in (("command", COMMAND), ("control character", CONTROL)):
        if found := pattern.search(text):
            yield f"a {kind} in {name}: {text[max(0, found.start() - 200) : found.end() + 80]!r}"


def markdown_faults(name: str, text: str) -> Iterator[str]:
    """Say what a page of Markdown shows that nobody of us wrote."""
    yield from _plain_faults(name, text)
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    every = [*tokens, *(child for one in tokens for child in one.children or ())]
    for one in every:
        is_ours = re.fullmatch(r"\s*(</?details>|<summary>[^<]*</summary>|\s)*\s*", one.content)
        if one.type in {"html_block", "html_inline"} and not is_ours:
            yield f"HTML in {name}: {one.content!r:.300}"
        if one.type in {"image", "s_open"} or (
            one.type == "link_open" and "evil" in str(one.attrs.get("href"))
        ):
            yield f"{one.type} in {name}: {one.attrs}"


def _commands(home: Path, texts: Sequence[str]) -> Iterator[str]:
    """What `sopbench` prints of a saved session."""
    yield from stream_faults(session(home, texts, "-q"))
    names = [_task(text, 0, HABITS[0]) for text in texts][:1]
    shown = [name for name in names if name.isprintable()]
    for words in (
        ("show", "last", "--all"),
        ("show", "last", "--all", "--json"),
        ("gate", "last", "--fail-under", "10%"),
        ("gate", "last", "--gate", "lost=0", "--compare", "last"),
        ("compare", "last", "last"),
        ("compare", "last", "last", "--json"),
        ("compare", "--flaky", "last"),
        ("list", "-vv"),
        ("approve", "last", "--reason", _key(texts), "--to", "out/approved"),
        ("approve", "last", "--baseline", "out/slim.jsonl", "--reason", _key(texts)),
        *(("show", "last", name) for name in shown),
        *(("show", "last", "--", text) for text in texts if len(text) < 99 and _is_argument(text)),
    ):
        ended = run_sopbench(home, *words)
        yield from (f"{words[:3]}: {one}" for one in stream_faults(ended, statuses=(0, 1, 2, 3)))
    for words in (("report", "last"), ("report", "last", "--compare", "last")):
        page = run_sopbench(home, *words, "--to=md").out
        yield from markdown_faults(" ".join(words), page)


def _is_argument(text: str) -> bool:
    try:
        return "\0" not in text and bool(text.encode())
    except UnicodeEncodeError:
        return False


def _snapshots(home: Path, texts: Sequence[str]) -> Iterator[str]:
    """Snapshots that are written, and then compared with others."""
    words = ("-v", "test_own.py", "-k", "approved")
    yield from stream_faults(session(home, texts, *words, "--snapshot-update"), statuses=(0, 1))
    written = [*(home / "sop_snapshots").rglob("*.json")]
    for path in written:
        json.loads(path.read_text("utf-8"))
        text = path.read_text("utf-8").replace("T_", "U_").replace('"measure"', '"measured"')
        path.write_text(text, "utf-8")
    yield from stream_faults(session(home, texts, *words), statuses=(0, 1))


SURFACES: Final = (
    Surface("terminal -q", _terminal("-q")),
    Surface("terminal", _terminal("-rA")),
    Surface("terminal -v", _terminal("-vv", "-rA", "domains/lab/tasks.jsonl", "test_own.py")),
    Surface("terminal of workers", _terminal("-v", "-n2")),
    Surface("terminal in flight", _terminal("-v", "--sop-concurrency=4", "--sop-gate=tsr=90%")),
    Surface("files", _files),
    Surface("sopbench", _commands),
    Surface("snapshots", _snapshots),
)
