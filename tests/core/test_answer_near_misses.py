"""Near misses: each form that is read, spoiled in each way in which a text like it says less.

Every form is crossed with every spoiler, so that a form that is read more widely is held against
ranges, alternatives, templates, negations, retractions, examples, drafts, and what others said.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pytest_sopbench import Answer, OutputField
from tests.builders.judged import FieldType, JsonValue, compare, find_answer, read_returned

FIELDS = {
    one.name: one
    for one in (
        OutputField(name="queue", type=FieldType.ENUM, values=("general", "VIP", "VIP plus")),
        OutputField(name="open", type=FieldType.BOOLEAN),
        OutputField(name="sla_hours", type=FieldType.INTEGER),
        OutputField(name="parcels", type=FieldType.INTEGER),
        OutputField(name="net_weight_kg", type=FieldType.NUMBER),
        OutputField(name="rate_percent", type=FieldType.NUMBER),
        OutputField(name="fee", type=FieldType.NUMBER),
        OutputField(name="fee_eur", type=FieldType.NUMBER),
        OutputField(name="weight_per_day", type=FieldType.NUMBER),
        OutputField(name="hours_or_days", type=FieldType.NUMBER),
        OutputField(name="due", type=FieldType.DATE),
    )
}

# A form, a value that stands in it, another value of the same form, and what the form says.
FORMS: dict[str, tuple[str, str, str, dict[str, JsonValue]]] = {
    "line": ("queue: {}", "VIP", "general", {"queue": "VIP"}),
    "bold": ("**queue:** {}", "VIP", "general", {"queue": "VIP"}),
    "unit-word": ("sla_hours: {}", "48 hours", "24 hours", {"sla_hours": 48}),
    "unit-short": ("sla_hours: {}", "48 h", "24 h", {"sla_hours": 48}),
    "unit-weight": ("net_weight_kg: {}", "12.5 kg", "13.5 kg", {"net_weight_kg": 12.5}),
    "unit-joined": ("net_weight_kg: {}", "12.5kg", "13.5kg", {"net_weight_kg": 12.5}),
    "unit-percent": ("**rate_percent:** {}", "5.5 %", "7 %", {"rate_percent": 5.5}),
    "unit-counted": ("parcels: {}", "3 parcels", "4 parcels", {"parcels": 3}),
    "group-space": ("net_weight_kg: {}", "1 236", "1 240", {"net_weight_kg": 1236}),
    "group-apostrophe": ("fee: {}", "1'204", "1'304", {"fee": 1204}),
    "group-dots": ("fee: {}", "1.234.567", "1.334.567", {"fee": 1234567}),
    "group-of-a-count": ("parcels: {}", "1,200", "1,300", {"parcels": 1200}),
    "commas-in-bold": (
        "**queue:** {}, **sla_hours:** 4", "VIP", "general", {"queue": "VIP", "sla_hours": 4},
    ),
    "and": ("queue: {} and sla_hours: 4", "VIP", "general", {"queue": "VIP", "sla_hours": 4}),
    "stops": ("queue: {}. sla_hours: 4.", "VIP", "general", {"queue": "VIP", "sla_hours": 4}),
    "brackets": ("(queue: {}, sla_hours: 4)", "VIP", "general", {"queue": "VIP", "sla_hours": 4}),
    "ticks": (
        "Final answer: `queue: {}, sla_hours: 4`", "VIP", "general",
        {"queue": "VIP", "sla_hours": 4},
    ),
    "weekday-behind": (
        "due: {}", "2025-03-14 (Friday)", "2025-03-21 (Friday)", {"due": "2025-03-14"},
    ),
    "escaped": ("sla\\_hours: {}\\\nqueue: VIP", "4", "8", {"queue": "VIP", "sla_hours": 4}),
    "defined": ("queue := {}\nopen :: false", "VIP", "general", {"queue": "VIP", "open": False}),
    "comma-of-a-fraction": ("fee: {}", "637,05", "640,05", {"fee": 637.05}),
    "spaces-and-comma": ("fee: {}", "1 208,75 €", "1 300,75 €", {"fee": 1208.75}),
    "francs": ("fee: {}", "CHF 204.\u2013", "CHF 210.\u2013", {"fee": 204}),
    "day-month": ("due: {}", "25 December 2024", "26 December 2024", {"due": "2024-12-25"}),
    "month-day": ("due: {}", "December 24th, 2024", "December 23rd, 2024", {"due": "2024-12-24"}),
    "short-month": ("due: {}", "2 Feb 2025", "3 Feb 2025", {"due": "2025-02-02"}),
    "hyphens": ("due: {}", "18-Apr-2026", "19-Apr-2026", {"due": "2026-04-18"}),
    "dotted-day": ("due: {}", "25.12.2024", "26.12.2024", {"due": "2024-12-25"}),
    "sloped-day": ("due: {}", "14/08/2027", "15/08/2027", {"due": "2027-08-14"}),
    "year-first": ("due: {}", "2027/08/14", "2027/08/15", {"due": "2027-08-14"}),
    "with-weekday": (
        "due: {}", "Friday, 14 March 2025", "Friday, 21 March 2025", {"due": "2025-03-14"},
    ),
    "commas": ("queue: {}, sla_hours: 4", "VIP", "general", {"queue": "VIP", "sla_hours": 4}),
    "equal-signs": ("queue = {}, open=false", "VIP", "general", {"queue": "VIP", "open": False}),
    "strokes": ("queue: {} | sla_hours: 4", "VIP", "general", {"queue": "VIP", "sla_hours": 4}),
    "final-arrow": ("Final answer → queue: {}", "VIP", "general", {"queue": "VIP"}),
    "final-pairs": (
        "Final: queue = {}, open = false", "VIP", "general", {"queue": "VIP", "open": False},
    ),
    "final-dash": (
        "Final answer \u2013 queue: {}, sla_hours: 4", "VIP", "general",
        {"queue": "VIP", "sla_hours": 4},
    ),
    "so": ("So: queue = {}", "VIP", "general", {"queue": "VIP"}),
    "therefore": ("Therefore — queue: **{}**", "VIP", "general", {"queue": "VIP"}),
    "answer-is": ("The answer is queue: {}", "VIP", "general", {"queue": "VIP"}),
    "dash": ("queue - {}", "VIP", "general", {"queue": "VIP"}),
    "bullets": (
        "• queue — {}\n• sla_hours — 4", "VIP", "general", {"queue": "VIP", "sla_hours": 4},
    ),
    "leaders": (
        "queue ........ {}\nsla_hours .... 4", "VIP", "general", {"queue": "VIP", "sla_hours": 4},
    ),
    "twice": ("queue: {0}\nqueue: {0}", "VIP", "general", {"queue": "VIP"}),
    "said-and-stated": ("The queue is {0}.\n\nqueue: {0}", "VIP", "general", {"queue": "VIP"}),
    "keys": ('"queue": "{}",\n"sla_hours": 4', "VIP", "general", {"queue": "VIP", "sla_hours": 4}),
    "table": (
        "| queue | sla_hours |\n|---|---|\n| {} | 4 |", "VIP", "general",
        {"queue": "VIP", "sla_hours": 4},
    ),
}  # fmt: skip

OF_A_VALUE = (
    "{0} or {1}", "{0} / {1}", "{0}/{1}", "{0} to {1}", "{0} - {1}", "{0}\u2013{1}", "{0}, {1}",
    "{0}; {1}", "{0} and {1}", "{0}|{1}", "between {0} and {1}", "from {0}", "{0} at most",
    "at least {0}", "up to {0}", "about {0}", "~{0}", "≈ {0}", "< {0}", "> {0}", "{0}+", "{0}?",
    "not {0}", "never {0}", "no {0}", "maybe {0}", "probably {0}", "perhaps {0}", "e.g. {0}",
    "was {0}", "would be {0}", "{0}, not {1}", "{0} instead of {1}", "{0} (or {1})",
    "{0} (was {1})", "{0} (example)", "{0} (provisional)", "{0} if approved", "{0} unless refused",
    "{0}, otherwise {1}", "{0} → {1}", "~~{0}~~", "<{0}>", "...", "???", "{0} ...", "{0}, ...",
    "{0} ❌", "{0} ❓", "{0} 🤔",
)  # fmt: skip

OF_A_TEXT = (
    "For example:\n\n{0}", "The format is:\n\n{0}", "Template:\n\n{0}", "Draft\n\n{0}",
    "An earlier draft of mine said:\n\n{0}", "My colleague had answered:\n\n{0}",
    "My colleague from the night shift (agent B) wrote:\n\n{0}", "The supervisor decided:\n\n{0}",
    "The SOP says:\n\n{0}", "The previous case ended with:\n\n{0}", "Options:\n\n{0}",
    "If the seal were broken, it would be:\n\n{0}", "Never write this:\n\n{0}",
    "The tool returned:\n\n{0}", "Rejected:\n\n{0}", "{0}\n\nScratch that.",
    "{0}\n\nThis is not final.", "{0}\n\nI am not sure.", "{0}\n\nUnless the desk objects.",
    "{0}\n\nThat is only an example.", "{0}\n\nActually, nobody can tell.",
    "{0}\n\nEdit: the check couldn't be made after all.", "{0}\n\nor\n\n{1}", "{0}\nor\n{1}",
    "{0}\n\n{1}", "{0}\n{1}", "{0}\n\nOption B\n\n{1}", "{0}\n\nThese are only placeholders.",
    "{0}\n\nHold on, that was another case.", "~~{0}~~", "A first guess:\n\n{0}",
    "Work in progress:\n\n{0}", "For illustration:\n\n{0}", "Dummy values:\n\n{0}",
    "Imagine:\n\n{0}", "A common mistake:\n\n{0}", "The output should look like this:\n\n{0}",
    "{0}\n\nThis is a draft.", "{0}\n\nDraft.", "{0}\n\n(draft)", "{0}\n\nTo be confirmed.",
    "{0}\n\nThat was a guess.", "{0}\n\nI made these values up.", "{0}\n\nIs that right?",
    "{0}\n\nThe real answer follows.", "{0}\n\nSorry, wrong task.",
    "{1}\n\nBut per legal, who may overrule me:\n\n{0}",
)  # fmt: skip

# Of a form of one line.
OF_A_LINE = (
    "Example: {0}", "**Example:** {0}",
    "e.g. {0}", "Option A: {0}", "If approved: {0}", "Colleague: {0}", "My colleague's answer: {0}",
    "The tool said: {0}", "Draft: {0}", "Not {0}", "Never {0}", "Previously: {0}", "Was: {0}",
    "Default: {0}", "Otherwise: {0}", "Otherwise → {0}", "Unless refused → {0}", "Is it {0}",
    "{0} (example)", "{0} or similar", "{0}?", "{0} or {1}", "{0} / {1}", "{0}, or {1}",
    "{0} -- or -- {1}", "{0}, perhaps", "({0})?", "Perhaps {0}", "Final answer? {0}?",
    "Not the final answer: {0}", "Final answer of the last run: {0}", "So would be: {0}",
    "{0}...", "{0}\u2026", "{0} ???", "The answer is not {0}",
    "The answer is either {0} or {1}", "The answer is never {0}",
)  # fmt: skip


NOT_READ = (
    ("sla_hours", "48 minutes"), ("sla_hours", "2 h 30 min"), ("sla_hours", "48 hours a week"),
    ("sla_hours", "48 kg"), ("sla_hours", "1.5 days"), ("net_weight_kg", "500 g"),
    ("net_weight_kg", "12 lb"), ("net_weight_kg", "12 kg/m"), ("net_weight_kg", "1,236"),
    ("net_weight_kg", "1,236 kg"), ("rate_percent", "5 per mille"), ("rate_percent", "5 points"),
    ("fee", "5 %"), ("fee", "5 kg"), ("fee", "1,236"), ("fee", "1 23"), ("fee", "12 3456"),
    ("fee", "1'23"), ("fee", "1.2.3"), ("fee", "1,2,3"), ("fee", "USD 5 EUR"), ("fee", "5 k"),
    ("fee", "5 million"), ("fee_eur", "500 USD"), ("fee_eur", "$500"), ("weight_per_day", "5 days"),
    ("hours_or_days", "5 days"), ("parcels", "3,4"), ("parcels", "3 boxes"), ("parcels", "a dozen"),
    ("due", "05/06/2024"), ("due", "5.6.2024"), ("due", "May 1"), ("due", "May 2024"),
    ("due", "31 February 2024"), ("due", "13/13/2024"), ("due", "25.12.24"),
    ("due", "Monday, 14 March 2025"), ("due", "2025-03-14 (Monday)"), ("due", "Ma 5 2024"),
    ("due", "14 Smarch 2025"), ("due", "14 March 2025 or later"), ("due", "by 14 March 2025"),
    ("due", "14-16 March 2025"), ("due", "14 to 16 March 2025"),
    ("due", "14 March 2025 - 1 May 2025"),
)  # fmt: skip


def read(text: str, names: Iterable[str]) -> Answer:
    fields = tuple(FIELDS[name] for name in names)
    return find_answer(read_returned(text), fields, "")


@pytest.mark.parametrize(("name", "value"), NOT_READ)
def test_a_value_that_may_mean_two_things_is_not_read(name: str, value: str) -> None:
    answer = read(f"{name}: {value}", [name])

    assert not answer.complete, answer.values


@pytest.mark.parametrize(("name", "value"), NOT_READ)
def test_a_value_that_may_mean_two_things_is_wrong_where_it_is_returned(
    name: str, value: str
) -> None:
    field = FIELDS[name]

    answer = find_answer(read_returned({name: value}), (field,), "")

    assert answer.values[name] == value


@pytest.mark.parametrize("form", FORMS)
def test_each_form_says_what_a_reader_takes_from_it(form: str) -> None:
    shape, value, _, expected = FORMS[form]

    answer = read(shape.format(value), expected)

    assert answer.complete, answer.why
    assert not [
        name
        for name, wanted in expected.items()
        if compare(FIELDS[name], wanted, answer.values[name])
    ]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_is_read_with_a_value_that_says_less(form: str) -> None:
    shape, value, other, expected = FORMS[form]
    texts = [shape.format(spoiler.format(value, other)) for spoiler in OF_A_VALUE]

    assert not [text for text in texts if read(text, expected).complete]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_is_read_in_a_text_that_makes_it_none(form: str) -> None:
    shape, value, other, expected = FORMS[form]
    spoilers = OF_A_TEXT if "\n" in shape else (*OF_A_TEXT, *OF_A_LINE)
    texts = [spoiler.format(shape.format(value), shape.format(other)) for spoiler in spoilers]

    assert not [text for text in texts if read(text, expected).complete]
