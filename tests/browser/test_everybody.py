"""Everybody can read the page: what axe-core finds, at every width and in both colours."""

from __future__ import annotations

from typing import Any

import pytest

SESSIONS = ["well", "careless", "two", "large"]
TASK = "#dangerous_goods/P_29906"


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_list_has_no_violation(tab: Any, pages: Any, name: str, scheme: str) -> None:
    tab.scheme(scheme)
    tab.open(getattr(pages, name))

    assert [] == tab.violations()
    assert [] == tab.messages()


def test_what_is_wrong_would_be_found(tab: Any, pages: Any) -> None:
    tab.open(pages.well)
    tab.run("document.getElementById('main').append(document.createElement('button'))")

    assert any(one.startswith("button-name") for one in tab.violations())


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_task_has_no_violation(tab: Any, pages: Any, width: int, scheme: str) -> None:
    tab.scheme(scheme)
    tab.device(width=width)
    tab.open(pages.careless, TASK)
    tab.run("for (const one of document.querySelectorAll('#task details')) one.open = true")

    assert [] == tab.violations()


@pytest.mark.parametrize("fragment", ["", TASK])
@pytest.mark.parametrize("width", [360, 640])
def test_a_narrow_page_never_scrolls_sideways(
    tab: Any, pages: Any, fragment: str, width: int
) -> None:
    """640 are those of 1,280 at 200 %."""
    tab.device(width=width)
    tab.open(pages.careless, fragment)

    assert tab.run("return document.documentElement.scrollWidth") <= width
    assert [] == tab.violations()


def test_without_a_script_every_run_stands_in_a_plain_list(tab: Any, pages: Any) -> None:
    tab.script(is_on=False)
    tab.open(pages.careless)

    assert 327 == len(tab.all("ol.plain li"))
    assert tab.find("ol.plain li").is_displayed()
    assert "regression lost 158 gained 0" in tab.find(".verdict").text
    assert not tab.find("#table").is_displayed()


def test_colours_follow_the_reader(tab: Any, pages: Any) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    tab.open(pages.well)
    light = tab.run(ground)

    tab.scheme("dark")

    assert light != tab.run(ground)
