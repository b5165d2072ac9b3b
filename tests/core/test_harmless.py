"""Text of anybody, printed: no command to a terminal, none to a CI server."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_sopbench._core.hiding import (
    LineStart,
    as_xml_without_commands,
    harmless,
    without_commands,
    without_controls,
)

HOSTILE = st.text(alphabet=":#[]vsoerror \t\n\r\x1b\x07\u2028\u00a0mA;0", max_size=60)
COMMAND = re.compile(r"(?:\A|[\r\n])\s*::\S|##(?:\[|vso\[|teamcity\[)", re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("::error::PWN", ": :error::PWN", id="a line"),
        pytest.param("x\n  ::add-mask::e", "x\n  : :add-mask::e", id="behind blanks"),
        pytest.param("x\r::error::e", "x\r: :error::e", id="behind a carriage return"),
        pytest.param("\u00a0\u2003::error::e", "\u00a0\u2003: :error::e", id="unusual blanks"),
        pytest.param("a ##[error]b", "a # #[error]b", id="Azure"),
        pytest.param("a ##VSO[task.x]b", "a # #VSO[task.x]b", id="Azure in capitals"),
        pytest.param("##teamcity[x]", "# #teamcity[x]", id="TeamCity"),
        pytest.param("lab/data.csv::T_1", "lab/data.csv::T_1", id="a node id"),
        pytest.param("## Title", "## Title", id="a title"),
        pytest.param("x[::2]", "x[::2]", id="a slice"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_command_is_kept_readable_and_is_none(text: str, shown: str) -> None:
    assert shown == without_commands(text)


@given(HOSTILE)
def test_no_text_has_a_command_left(text: str) -> None:
    assert not COMMAND.search(without_commands(text))
    assert not COMMAND.search(harmless(text))


@given(HOSTILE)
def test_what_is_harmless_stays_so(text: str) -> None:
    assert harmless(text) == harmless(harmless(text))


@given(st.text(alphabet=":#[]vsoteamcity<&'\"", max_size=60))
@example("##[error]PWN")
@example("x ##vso[task.complete] ##TeamCity[buildStop]")
def test_an_xml_document_without_commands_says_the_same_to_a_parser(text: str) -> None:
    case = ET.Element("case", name=text)
    case.text = text

    safe = as_xml_without_commands(ET.tostring(case, "unicode"))

    read = ET.fromstring(safe)  # noqa: S314 - it was written here
    assert (text, text or None) == (read.get("name"), read.text)
    assert not re.search(r"##(?:\[|vso\[|teamcity\[)", safe)


def test_blanks_written_before_a_line_hide_no_command() -> None:
    start = LineStart()

    parts = [start.without_commands(part) for part in ("x\n", "  ", "::error::e\n", "y ", "::z")]

    assert "x\n  : :error::e\ny ::z" == "".join(parts)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b]0;title\x07", "\\x1b]0;title\\x07", id="title"),
        pytest.param("\x1b]8;;http://e\x1b\\x", "\\x1b]8;;http://e\\x1b\\x", id="link"),
        pytest.param("a\rb\x08c", "a\\rb\\x08c", id="overwriting"),
        pytest.param("a\u202eb\u2066c", "a\\u202eb\\u2066c", id="order of letters"),
        pytest.param("a\u2028b\x85c", "a\\u2028b\\x85c", id="line ends"),
        pytest.param("a\r\nb", "a\nb", id="line ends of Windows"),
        pytest.param("a\n\tb", "a\n\tb", id="lines and tabs"),
        pytest.param("\x1b[1;31mred", "\\x1b[1;31mred", id="colours"),
        pytest.param("\x1b[2Jx", "\\x1b[2Jx", id="clearing"),
        pytest.param("é☃👩‍🔬", "é☃👩‍🔬", id="letters"),
    ],
)
def test_what_moves_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert shown == without_controls(text)


def test_colours_are_kept_where_pytest_itself_writes_them() -> None:
    text = "\x1b[1;31mred\x1b[0m \x1b[2J"

    assert "\x1b[1;31mred\x1b[0m \\x1b[2J" == without_controls(text, colours="kept")
