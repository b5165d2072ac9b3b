"""What a reader does with the page: filter, search, sort, open, go on, go back, print."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

LOST = 158
TASK = "dangerous_goods/P_29906"


def test_what_went_wrong_stands_first(tab: Any, pages: Any) -> None:
    tab.open(pages.careless)

    assert "327 runs" == tab.count()
    assert {"lost"} == {one.text for one in tab.all(".runs tbody tr .c-change")[:10]}


@pytest.mark.parametrize(
    ("label", "word", "count"),
    [
        pytest.param("Outcome", "no_answer", 38, id="outcome"),
        pytest.param("Since baseline", "lost", LOST, id="change"),
        pytest.param("Field that differs", "hazard_class", 116, id="field"),
        pytest.param("Broken rule", "intake-first", 10, id="rule"),
    ],
)
def test_a_list_filters(tab: Any, pages: Any, label: str, word: str, count: int) -> None:
    tab.open(pages.careless)

    tab.choose(label, word)

    assert f"{count} of 327 runs" == tab.count()
    assert min(count, 100) == len(tab.rows())


def test_an_agent_and_a_tag_filter_together(tab: Any, pages: Any) -> None:
    tab.open(pages.two)

    tab.choose("Agent", "careless")
    both = tab.count()
    tab.choose("Tag", "imputed")

    assert "327 of 654 runs" == both
    assert re.fullmatch(r"\d+ of 654 runs", tab.count())
    assert both != tab.count()


def test_a_cell_of_the_confusion_table_filters(tab: Any, pages: Any) -> None:
    tab.open(pages.careless)
    cell = next(one for one in tab.all(".confusion td:not(.right) button") if one.text == "50")

    tab.click(cell)

    assert "50 of 327 runs" == tab.count()
    assert "expected Hazard Class C, given Hazard Class B" in tab.find(".chip").text


def test_a_word_of_the_first_screen_filters(tab: Any, pages: Any) -> None:
    tab.open(pages.careless)

    tab.click(tab.find(".since .lost button"))

    assert f"{LOST} of 327 runs" == tab.count()


def test_a_search_finds_what_stands_in_the_inputs_of_a_task_alone(tab: Any, pages: Any) -> None:
    tab.open(pages.careless)

    tab.search("ammonia SOLUTION p_29906")

    assert ["P_29906"] == tab.rows()


def test_a_column_sorts_both_ways(tab: Any, pages: Any) -> None:
    tab.open(pages.careless)
    head = tab.find(".runs th[data-by=task] button")

    tab.click(head)
    first = tab.rows()
    tab.click(head)

    assert sorted(first) == first
    assert tab.rows()[0] > first[-1]
    assert "descending" == tab.find(".runs th[data-by=task]").get_attribute("aria-sort")


def test_a_link_opens_its_task_and_survives_a_reload(tab: Any, pages: Any) -> None:
    tab.open(pages.careless, f"#{TASK}")
    before = tab.find("#task").text

    tab.browser.refresh()

    assert TASK == tab.find("#task-name").text
    assert before == tab.find("#task").text
    assert not tab.find("#tasks").is_displayed()


def test_a_task_shows_where_it_departs(tab: Any, pages: Any) -> None:
    tab.open(pages.careless, f"#{TASK}")

    text = tab.find("#task").text

    assert "First departure: step 5: record_class was expected, the run ended after 4" in text
    assert "First step that differs from main" in text
    assert "in main: correct" in text
    assert "7.1 When a class was found" in text
    assert ["expected", "this run", "main"] == [one.text for one in tab.all(".steps thead th")[1:]]
    assert 2 == sum("failed" == one.text for one in tab.all(".steps .tag"))


def test_arguments_are_folded_until_they_are_asked_for(tab: Any, pages: Any) -> None:
    tab.open(pages.careless, f"#{TASK}")
    inside = tab.find(".steps .call .inside")

    was = inside.is_displayed()
    tab.click(tab.find(".steps .call summary"))

    assert not was
    assert "sds_label_score" in inside.text


def test_a_link_that_means_nothing_says_so(tab: Any, pages: Any) -> None:
    tab.open(pages.careless, "#dangerous_goods/P_0")

    assert "No run in this page is called dangerous_goods/P_0" == tab.find("#unknown").text
    assert tab.find("#tasks").is_displayed()


class TestKeys:
    def test_j_and_k_go_through_the_rows_and_enter_opens_one(self, tab: Any, pages: Any) -> None:
        tab.open(pages.careless)
        names = tab.rows()

        tab.press("jjjk")
        there = tab.browser.switch_to.active_element.text
        tab.press("\ue007")

        assert names[1] == there
        assert f"dangerous_goods/{names[1]}" == tab.find("#task-name").text

    def test_j_goes_to_the_next_task_and_escape_back_to_its_row(self, tab: Any, pages: Any) -> None:
        tab.open(pages.careless)
        names = tab.rows()
        tab.press("j\ue007")

        tab.press("j")
        second = tab.find("#task-name").text
        tab.press("\ue00c")

        assert f"dangerous_goods/{names[1]}" == second
        assert names[1] == tab.browser.switch_to.active_element.text
        assert "" == tab.run("return location.hash")

    def test_a_slash_searches_and_escape_takes_the_filters_away(self, tab: Any, pages: Any) -> None:
        tab.open(pages.careless)
        tab.choose("Outcome", "error")

        tab.press("/")
        focused = tab.browser.switch_to.active_element.get_attribute("id")
        tab.press("\ue00c")

        assert "search" == focused
        assert "327 runs" == tab.count()

    def test_letters_in_the_search_are_letters(self, tab: Any, pages: Any) -> None:
        tab.open(pages.careless)

        tab.press("/")
        tab.press("jk")

        assert "jk" == tab.find("#search").get_attribute("value")
        assert not tab.find("#task").is_displayed()


def test_several_agents_stand_on_a_leaderboard_first(tab: Any, pages: Any) -> None:
    tab.open(pages.two)

    heads = [one.text for one in tab.all("#overview h2")]

    assert "Leaderboard" == heads[1]
    assert ["policy", "careless"] == [one.text for one in tab.all(".groups tbody th")]
    assert "more than chance: policy over careless" in tab.find("#overview").text


@pytest.mark.parametrize("fragment", ["", f"#{TASK}"])
def test_it_prints_whole(tab: Any, pages: Any, fragment: str) -> None:
    tab.open(pages.careless, fragment)

    pdf = base64.b64decode(tab.browser.print_page())

    assert pdf.startswith(b"%PDF")
    pages_of_it = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert pages_of_it > (1 if fragment else 5)


def test_on_paper_every_row_is_there_and_nothing_to_press(tab: Any, pages: Any) -> None:
    tab.open(pages.careless)

    tab.lay_on_paper()
    tab.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = [one.is_displayed() for one in (tab.find(".bar"), tab.find(".more"), tab.find("#keys"))]
    tab.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    assert 327 == len(tab.rows())
    assert [False] * 3 == shown


def test_filters_stand_in_the_address_and_a_link_shows_the_same_view(tab: Any, pages: Any) -> None:
    tab.open(pages.two)
    tab.choose("Agent", "careless")
    tab.choose("Outcome", "wrong")
    tab.search("record_class")
    tab.click(tab.find(".runs th[data-by=task] button"))
    rows, count = tab.rows(), tab.count()

    fragment = tab.run("return location.hash")
    tab.open(pages.two, fragment)

    assert fragment.startswith("#?q=record_class&agent=careless&outcome=wrong&sort=task")
    assert count == tab.count()
    assert rows == tab.rows()
    assert "record_class" == tab.find("#search").get_attribute("value")


def test_a_cell_of_one_agent_filters_its_runs_alone(tab: Any, pages: Any) -> None:
    tab.open(pages.two)
    tab.click(tab.find("#overview > details.fold:not(.legend) summary"))
    cells = tab.all(".confusion td:not(.right) button")

    tab.click(next(one for one in cells if one.text == "50"))
    fragment = tab.run("return location.hash")
    tab.open(pages.two, fragment)

    assert "50 of 654 runs" == tab.count()
    assert "careless: expected Hazard Class C, given Hazard Class B" in tab.find(".chip").text


def test_a_task_goes_back_to_the_same_filters(tab: Any, pages: Any) -> None:
    tab.open(pages.careless, "#?outcome=error")
    tab.press("j\ue007")

    tab.browser.back()

    assert "#?outcome=error" == tab.run("return location.hash")
    assert "4 of 327 runs" == tab.count()


def test_a_filter_that_means_nothing_is_told(tab: Any, pages: Any) -> None:
    tab.open(pages.careless, "#?outcome=splendid&__proto__=1&table=a&sort=toString")

    text = tab.find("#unknown").text

    assert "This page has no outcome=splendid, __proto__=1, sort=toString, table=a" == text
    assert "327 runs" == tab.count()


def test_the_sop_stands_beside_a_run_and_a_broken_rule_leads_to_its_clause(
    tab: Any, pages: Any
) -> None:
    tab.open(pages.careless, f"#{TASK}")
    before = tab.find("#sop").is_displayed()

    tab.click(tab.find(".clauses button"))
    there = tab.browser.switch_to.active_element

    assert before
    assert "mark" == there.tag_name
    assert there.text.startswith("7.1 When a class was found, enter it")
    tab.press("s")
    assert not tab.find("#sop").is_displayed()


def test_a_task_ends_with_the_command_that_makes_it_again(tab: Any, pages: Any) -> None:
    tab.open(pages.careless, f"#{TASK}")

    command = tab.find("pre.again").text

    row = "--sop-domain=dangerous_goods::P_29906"
    assert f"pytest {row} --sop-agent=careless_agent:agent -p no:cacheprovider" == command
