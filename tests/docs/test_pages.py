"""What the pages show is what happens: their files are written, their commands are run.

A fenced block is a file where its first line is `# file: NAME`, or where the paragraph before it
ends in a path between backticks. A console block is run where it shows output. A line `...` in it
stands for any lines, and `...` inside a line for any text.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("example_suite/*.md"),
    ]
)
BLOCK = re.compile(r"^```([a-z]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE_LINE = re.compile(r"# file: (\S+)\n")
FILE_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.\w+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|tmp|work|Users|opt|mnt|var)/")
COMMANDS = {
    "python": [sys.executable],
    "pytest": [sys.executable, "-m", "pytest"],
    "sopbench": [sys.executable, "-c", "from pytest_sopbench.cli import main; main()"],
}


class Step(NamedTuple):
    """What a reader does at one block: write a file, or run a command."""

    kind: str
    name: str
    text: str


def steps_of(page: str) -> Iterator[Step]:
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        language, body = block.groups()
        if language == "console":
            yield from shown_commands(body)
        elif marked := FILE_LINE.match(body):
            yield Step("file", marked[1], body[marked.end() :])
        elif paths := FILE_PATH.findall(text[: block.start()].rstrip().rpartition("\n\n")[2]):
            yield Step("file", paths[-1], body)


def shown_commands(body: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        if output.strip():
            yield Step("command", command, output)


def as_compared(line: str) -> str:
    """Rulers fill a line to its width, so that their length depends on a duration."""
    return re.sub(r"={3,}", "===", line.rstrip())


def assert_shown(shown: str, actual: list[str], command: str) -> None:
    """Fail unless the lines of a page stand in the output, in order and without a gap."""
    lines = [as_compared(line) for line in actual]
    place, gap = 0, False
    for line in map(as_compared, shown.splitlines()):
        if line == "...":
            gap = True
            continue
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        found = next((n for n in range(place, len(lines)) if pattern.fullmatch(lines[n])), None)
        if found is None or (found != place and not gap):
            instead = "\n".join(actual[place : place + 3])
            pytest.fail(f"$ {command}\nthe page shows {line!r}\nthe output goes on {instead!r}")
        place, gap = found + 1, False
    if not gap and any(lines[place:]):
        pytest.fail(f"$ {command}\nthe page ends, and the output goes on {lines[place]!r}")


@pytest.mark.parametrize(
    ("page", "beside"),
    [
        pytest.param("README.md", ("demo/careless_agent.py",), id="readme"),
        pytest.param("docs/tutorial.md", (), id="tutorial"),
        pytest.param("docs/how-to/judge-documents-and-state.md", (), id="documents and state"),
        pytest.param("docs/from-a-spreadsheet.md", ("docs/files/old_cases.py",), id="spreadsheet"),
    ],
)
def test_commands_of_the_page_print_what_it_shows(
    pytester: pytest.Pytester, page: str, beside: tuple[str, ...]
) -> None:
    for name in beside:
        shutil.copy(ROOT / name, pytester.path)
    commands = 0

    for step in steps_of(page):
        if step.kind == "file":
            path = pytester.path / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
        else:
            program, *arguments = shlex.split(step.name)
            result = pytester.run(*COMMANDS[program], *arguments)
            assert_shown(step.text, result.outlines, step.name)
            commands += 1

    assert commands > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
class TestEveryPage:
    def test_its_links_lead_somewhere(self, page: Path) -> None:
        text = page.read_text(encoding="utf-8")

        broken = [link for link in LINK.findall(text) if not leads_somewhere(page, link)]

        assert [] == broken

    def test_it_names_no_path_of_a_machine(self, page: Path) -> None:
        assert MACHINE_PATH.search(page.read_text(encoding="utf-8")) is None

    def test_nothing_is_left_to_be_filled_in(self, page: Path) -> None:
        assert "@@" not in page.read_text(encoding="utf-8")


def leads_somewhere(page: Path, link: str) -> bool:
    if link.startswith(("https://", "http://")):
        return True
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not anchor or anchor in anchors(target))


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


class Client:
    """Plays OpenAI's client: one tool call, then the answer."""

    def __init__(self) -> None:
        self.chat = SimpleNamespace(completions=self)
        self.asked: list[dict[str, Any]] = []

    def create(self, **asked: Any) -> Any:
        self.asked.append({**asked, "messages": list(asked["messages"])})
        call = SimpleNamespace(
            id="1",
            function=SimpleNamespace(name="record_class", arguments=json.dumps({"x": 1})),
        )
        first = len(self.asked) == 1
        message = SimpleNamespace(
            tool_calls=[call] if first else None,
            content="" if first else "<hazard_class>B</hazard_class>",
        )
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage={"requests": 1})


class Tools:
    """What the example needs of a toolbox."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.usage: list[Any] = []

    def openai(self) -> list[str]:
        return ["a tool spec"]

    def execute_tool(self, name: str, arguments: Any) -> dict[str, Any]:
        self.calls.append((name, arguments))
        return {"status": "recorded"}

    def report(self, *, usage: Any, model: str) -> None:
        self.usage.append((usage, model))


def test_the_agent_with_openai_calls_tools_and_gives_their_results_back() -> None:
    files = {step.name: step.text for step in steps_of("docs/reference/agents.md")}
    names: dict[str, Any] = {}
    exec(files["with_openai.py"], names)  # noqa: S102 - the page's own example is what is tested
    client, tools = Client(), Tools()

    answer = names["agent"]("the SOP", {"product_id": "P_1"}, tools, client=client)

    assert "<hazard_class>B</hazard_class>" == answer
    assert [("record_class", {"x": 1})] == tools.calls
    assert [({"requests": 1}, "openai/gpt-5")] * 2 == tools.usage
    assert {"role": "tool", "tool_call_id": "1", "content": '{"status": "recorded"}'} == (
        client.asked[1]["messages"][-1]
    )


@pytest.mark.parametrize(
    ("shown", "actual"),
    [
        pytest.param("a\nc\n", ["a", "b", "c"], id="a line left out without a mark"),
        pytest.param("a\n...\nd\n", ["a", "b", "c"], id="a line that is not there"),
        pytest.param("...\nb\na\n", ["a", "b"], id="another order"),
        pytest.param("a 1...3\n", ["a 1 2"], id="another end of a line"),
        pytest.param("a\n", ["a", "b"], id="an end without a mark"),
    ],
)
def test_a_page_that_shows_something_else_is_found(shown: str, actual: list[str]) -> None:
    with pytest.raises(pytest.fail.Exception):
        assert_shown(shown, actual, "pytest")


def test_a_mark_stands_for_what_is_left_out() -> None:
    assert_shown("a\n...\nd in ...s ===\n...\n", ["a", "b", "c", "d in 0.1s =====", "e"], "pytest")
