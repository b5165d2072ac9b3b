"""Hostile text stays text: whoever wrote an id or an answer writes no part of the page."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from big_page import HOSTILE, big_page
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.gates.conditions import GateState, GateVerdict
from pytest_sopbench._core.gates.decide import TaskFacts
from pytest_sopbench._core.model.trace import Mismatch, Problem
from pytest_sopbench._core.records.record import CallRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.html.data.runs import json_text
from pytest_sopbench._reports.html.page import html_page, visible

KNOWN = {"a", "b", "body", "br", "caption", "circle", "code", "dd", "div", "dl", "dt", "footer"} | {
    *("h1", "h2", "head", "header", "html", "i", "kbd", "li", "line", "link", "main", "meta"),
    *(
        "details",
        "ol",
        "p",
        "rect",
        "script",
        "section",
        "small",
        "span",
        "strong",
        "style",
        "summary",
        "svg",
    ),
    *("table", "tbody", "td", "th", "thead", "title", "tr", "ul"),
}
"""The elements of the templates, and of nothing else."""


def tags(page: Any) -> set[str]:
    return {one.tag.rpartition("}")[2] for one in page.tree.iter() if isinstance(one.tag, str)}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_adds_no_element_and_no_attribute(
    page_of: Any, run: Any, sources: Any, text: str
) -> None:
    record = run(
        text,
        Outcome.WRONG,
        domain=f"lab{text}",
        agent=text,
        reason=text,
        answer={text: text},
        mismatches=(Mismatch(field=text, expected=text, actual=text, why=text),),
        calls=(CallRecord(name=text, arguments={text: text}, result=text, error=text),),
        problem=Problem(type=text, message=text, traceback=text),
        notes=(text,),
        text=text,
    )
    facts = TaskFacts(inputs={text: text}, clauses={text: text}, tags=(text,), location=text)
    gate = GateVerdict(asked=text, got=text, state=GateState.FAILS, where=text, why=text)

    page = page_of(
        record,
        run("T2"),
        sources=sources(facts, sop=text, again=text),
        gates=[gate],
        remarks=[text],
        facts={text: text},
    )

    page.text.encode("utf-8")
    assert tags(page) <= KNOWN
    assert 3 == len(page.all("script"))
    assert not [name for one in page.tree.iter() for name in one.attrib if name.startswith("on")]
    assert {"#", "d"} == {one.get("href")[0] for one in (*page.all("a"), *page.all("link"))}
    assert not set("\x00\x1b\u202e\u2028\u2029") & set(page.text)
    assert text == page.runs()["runs"][0][1]
    assert {text: text} == page.detail(0)["inputs"]


def test_the_policy_names_the_script_and_the_style_as_they_are_read(page_of: Any, run: Any) -> None:
    page = page_of(run("T1"))

    (policy,) = [one.get("content") for one in page.all("meta") if one.get("http-equiv")]
    script, style = page.all("script")[-1].text, page.all("style")[0].text
    for text in (script, style):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")


def test_it_names_no_address(page_of: Any, run: Any) -> None:
    page = page_of(run("T1"))

    assert "://" not in page.text.replace("http://www.w3.org/2000/svg", "")


def test_a_large_hostile_session_parses_as_it_is_meant(parsed: Any) -> None:
    page = parsed(html_page(big_page(600)))

    assert tags(page) <= KNOWN
    assert 600 == len(page.runs()["runs"])
    assert 600 == len(page.all("ol[@class='plain']/li"))


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists, max_leaves=5))
def test_embedded_data_is_read_back_and_cannot_end_its_element(value: object) -> None:
    text = json_text(value)

    assert value == json.loads(text)
    assert not set("<>&\u2028\u2029") & set(text)
    text.encode("utf-8")


@given(st.text(st.characters(codec=None)))
def test_what_is_shown_can_be_written_and_seen(text: str) -> None:
    shown = visible(text)

    shown.encode("utf-8")
    assert not {"\x00", "\x1b", "\u202e", "\u2066", "\u200b"} & set(shown)
    assert text == shown or not text.isprintable()
