"""The site: every page has its place, and every public name its entry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pytest_sopbench
from pytest_sopbench import errors, hookspecs
from pytest_sopbench.plugin import SOP_FIXTURES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
API = "".join(path.read_text("utf-8") for path in sorted((DOCS / "reference" / "api").glob("*.md")))
ENTRIES = re.findall(r"^::: (\S+)$", API, re.MULTILINE)
HOOKS = [name for name in vars(hookspecs) if name.startswith("pytest_sop_")]
ERRORS = [
    name
    for name, one in vars(errors).items()
    if isinstance(one, type) and issubclass(one, BaseException)
]


def test_every_page_stands_in_the_navigation_once() -> None:
    """A page that nobody finds is not there."""
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").split("\nnav:\n")[1]
    named = re.findall(r"([\w/.-]+\.md)$", navigation, re.MULTILINE)
    # The changelog lies outside, and is added when the site is built.
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]

    assert sorted([*pages, "changelog.md"]) == sorted(named)


@pytest.mark.parametrize(
    "name",
    [
        *(f"pytest_sopbench.{name}" for name in pytest_sopbench.__all__),
        *(f"pytest_sopbench.plugin.{name}" for name in sorted(SOP_FIXTURES)),
        *(f"pytest_sopbench.hookspecs.{name}" for name in HOOKS),
    ],
)
def test_a_public_name_has_an_entry(name: str) -> None:
    short = name.removeprefix("pytest_sopbench.")

    assert name in ENTRIES or f"pytest_sopbench.errors.{short}" in ENTRIES


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_has_an_entry_and_stands_in_the_tree(name: str) -> None:
    tree = (DOCS / "reference" / "api" / "errors.md").read_text("utf-8")

    assert f"::: pytest_sopbench.errors.{name}\n" in tree
    assert name in (errors.__doc__ or "")


def test_the_overview_lists_what_can_be_imported() -> None:
    (listed,) = re.findall(r"^`from pytest_sopbench import NAME` .*?: (.*?)\. ", API, re.MULTILINE)

    assert pytest_sopbench.__all__ == re.findall(r"`(\w+)`", listed)


@pytest.fixture
def late_returns(pytester: pytest.Pytester) -> None:
    """The domain of the reference page, its agent, and one that allows a day too many."""
    page = (DOCS / "reference" / "domains.md").read_text("utf-8")
    for name, text in re.findall(
        r"`(domains/late_returns/[a-z.]+)`:\n\n```[a-z]+\n(.*?)```", page, re.DOTALL
    ):
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (desk,) = re.findall(r"```python\n((?:(?!```).)*?def agent\(.*?)```", page, re.DOTALL)
    pytester.makepyfile(desk=desk, late=desk.replace("days <= 30", "days <= 31"))


@pytest.mark.usefixtures("late_returns")
def test_the_hooks_of_the_page_add_the_line_that_it_shows(pytester: pytest.Pytester) -> None:
    page = (DOCS / "reference" / "api" / "hooks.md").read_text("utf-8")
    code, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    pytester.makeconftest(code)

    result = pytester.runpytest("--sop-domain=late_returns", "--agent=desk:agent")

    assert shown.strip() in result.outlines


@pytest.mark.usefixtures("late_returns")
def test_the_wrapper_of_the_page_gives_each_run_its_label(pytester: pytest.Pytester) -> None:
    page = (DOCS / "reference" / "api" / "hooks.md").read_text("utf-8")
    _, code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    pytester.makeconftest(code)
    pytester.makepyfile(
        labels="import conftest\n"
        "import desk\n"
        "def agent(inputs, tools):\n"
        "    with open('labels.txt', 'a') as file:\n"
        "        file.write(conftest.label.get() + '\\n')\n"
        "    return desk.agent(inputs, tools)\n"
    )

    result = pytester.runpytest("--sop-domain=late_returns", "--agent=labels:agent")

    labels = (pytester.path / "labels.txt").read_text().splitlines()
    assert len({*labels}) == len(labels) == result.parseoutcomes()["passed"]
    assert all(re.fullmatch(r"late_returns/\S+ trial 1 attempt 1", one) for one in labels)


@pytest.mark.usefixtures("late_returns")
def test_the_first_page_shows_a_run_that_fails_as_it_fails(pytester: pytest.Pytester) -> None:
    page = (DOCS / "index.md").read_text("utf-8")
    (command, shown), *_ = re.findall(r"```console\n\$ pytest ([^\n]*)\n(.*?)```", page, re.DOTALL)

    result = pytester.runpytest(*command.split())

    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    assert 1 == result.ret
    assert re.search("(?s:.*)".join(parts), str(result.stdout)), str(result.stdout)
