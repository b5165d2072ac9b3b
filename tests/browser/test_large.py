"""3,000 runs with trials, crashes and hostile text: quick to open, and nothing of it runs."""

from __future__ import annotations

from typing import Any

from big_page import HOSTILE


def test_a_hundred_rows_are_made_and_more_on_demand(
    tab: Any, pages: Any, record_property: Any
) -> None:
    tab.open(pages.large)
    took = tab.run("return performance.timing.domInteractive - performance.timing.fetchStart")
    # No test decides by a clock; whoever wants to know finds it in the report.
    record_property("milliseconds_until_interactive", took)

    rows = len(tab.rows())
    # By its own event: a mouse would come too late, since rows are added as it gets near.
    tab.run("document.querySelector('.more button').click()")
    more = len(tab.rows())

    assert "3,000 runs" == tab.count()
    assert 100 <= rows <= 200
    assert rows < more < 3_000


def test_the_file_is_small_enough_to_be_sent(pages: Any) -> None:
    assert pages.large.stat().st_size < 6_000_000


def test_a_search_looks_through_all_of_them(tab: Any, pages: Any) -> None:
    tab.open(pages.large)

    tab.search("T_00700")

    assert "3 of 3,000 runs" == tab.count()


def test_trials_and_crashes_are_told(tab: Any, pages: Any) -> None:
    tab.open(pages.large)

    tab.choose("Outcome", "crash")
    tab.click(tab.find(".runs tbody a"))

    assert "crash: the process of the run died" in tab.find("#task .head").text
    assert "the process of the run died, or it never began" in tab.find("#task").text


def test_a_retry_and_a_failure_are_marked(tab: Any, pages: Any) -> None:
    tab.open(pages.large)

    tab.choose("Broken rule", "register-first")
    tab.click(tab.find(".runs tbody a"))

    assert {"failed", "retry"} <= {one.text for one in tab.all(".steps .tag")}


def test_nothing_of_a_hostile_text_runs(tab: Any, pages: Any) -> None:
    """Whoever wrote it: in ids, inputs, arguments, errors, answers and reasons."""
    tab.open(pages.large)
    title = tab.browser.title
    # On paper all rows are made at once.
    tab.lay_on_paper()

    names = tab.run(
        """
        const made = [];
        for (const text of arguments[0]) {
            const link = [...document.querySelectorAll('.runs tbody a')]
                .find(one => one.textContent.includes(text));
            if (!link) continue;
            link.click();
            dispatchEvent(new HashChangeEvent('hashchange'));
            for (const one of document.querySelectorAll('#task details')) one.open = true;
            made.push(document.querySelectorAll('#task :is(script, img, iframe, a)').length);
        }
        return made;
        """,
        [text for text in HOSTILE if text.isprintable()],
    )

    assert [0] * sum(text.isprintable() for text in HOSTILE) == names
    assert title == tab.browser.title
    assert [] == tab.messages()
    assert [] == tab.requests()


def test_what_cannot_be_seen_is_shown_as_an_escape(tab: Any, pages: Any) -> None:
    tab.open(pages.large)
    tab.lay_on_paper()

    names = "\n".join(tab.rows())

    assert all(
        sign in names for sign in ("\\u0000", "\\ud800", "\\u202e", "\\u001b]8;;", "\\u2028")
    )
    assert not set(names) & {"\x00", "\u202e", "\x1b", "\u2028"}


def test_the_policy_lets_nothing_else_run(tab: Any, pages: Any) -> None:
    """The second fence: were a text ever to become markup, its script would not run."""
    tab.open(pages.large)
    title = tab.browser.title

    tab.run(
        """
        const made = document.createElement('script');
        made.textContent = "document.title = 'ran'";
        document.body.append(made);
        document.body.insertAdjacentHTML('beforeend', '<img src="https://example.com/a.png">');
        """
    )

    assert title == tab.browser.title
    assert any("Content Security Policy" in one for one in tab.messages())


def test_a_hostile_task_has_a_link_that_opens_it(tab: Any, pages: Any) -> None:
    tab.open(pages.large)
    link = tab.run(
        "return [...document.querySelectorAll('.runs tbody a')]"
        ".find(a => a.textContent.includes('</script>')).getAttribute('href')"
    )

    tab.open(pages.large, link)

    assert "</script>" in tab.find("#task-name").text
    assert tab.find("#task .head").text
