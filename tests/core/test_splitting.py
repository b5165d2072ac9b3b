"""An SOP becomes steps: the forms that people write, and the law that no text is lost."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
from bundled_domains.generator import bundled
from bundled_domains.steps import SECTIONS, steps_of
from hypothesis import given
from hypothesis import strategies as st

import pytest_sopbench
from pytest_sopbench import Procedure, Step, split_sop
from tests.builders.judged import Moment

BUNDLED = sorted((Path(pytest_sopbench.__file__).parent / "bundled").glob("*/sop.md"))

NUMBERED_HEADINGS = """
    # Refunds
    Valid from May.

    ## 1. Purpose
    Say why.

    ## 2. Check the order
    1. Look it up.
    2. Compare the dates.

    ## 3) Decide
    3.1 Refund it.

    ### 3.2 Unless
    it was used.

    ## Contacts
    Ask the lead.
"""
CALLED_STEPS = """
    ---
    name: refunds
    description: |
      Step 1: this is no step
    ---
    # Refunds

    ## When to use
    1. A customer asks.
    2. An order is late.

    ## Procedure

    ### Step 1: Look up the order [PRE-APPROVAL REQUIRED]
    Call `get_order`.

    ### Step 2 - Decide
    Then go back to step 1, or on.

    ### **Step 3** Close
    [APPROVAL REQUIRED]

    ## Notes
    Be kind.
"""
LOOK_ALIKES = """
    ## 1. First

    ```markdown
    ## 2. Not a step
    [APPROVAL REQUIRED]
    ```

    | ## 2. | neither |
    |---|---|
    | 2. is | a cell |

    > ## 2. quoted

    ~~~
    ## 3. neither
    ```
    ~~~

    ## 2. Second
    See 3. The clause below.
"""
PLAIN_SECTIONS = """
    1. Purpose
    To pay bills.

    2. Definitions
    2.1 Bill: a letter.

    3. Main Procedure
    In general, be quick.

    3.1 Read the bill
    - Step by step

    3.2 Pay it
    Section 4 says how it ends; proceed to
    4. not a section, since this line only wraps.

    4. Output
    The amount.
"""
PLAIN_STEPS = """
    Before you start, wash your hands.

    Step 1 - Open the box
    Use a knife.

    Step 2 - Take the letter out
    Step 2 may take long.

    Appendix A: boxes
    There are three.
"""
BRACED_LIST = """
    1) Open the case. It may be locked.
       1) With the key.
       2) With force.
    2) **Read it**: twice.
    3) Close it.
"""
LIST_UNDER_A_HEADING = """
    # Cancel

    ## Rules
    1. Be fast.
    2. Be fair.

    ## Steps
    1. Find the contract.
    2. End it.

    ## Contact
    The desk.
"""
UNDERLINED = """
    Cancel
    ======

    1. Find
    -------
    In the book.

    2. End
    ------
    With a pen.

    Remarks
    -------
    None.
"""
NESTED_HEADINGS = """
    # 1 Scope
    # 2 Procedure
    ## 2.1 Ask
    ## 2.2 Answer
    ### 2.2.1 Politely
    # 3 References
"""
STEPS_RESTART = """
    ## 1. Inbound
    ### Step 1: a
    ### Step 2: b

    ## 2. Outbound
    ### Step 1: c
    ### Step 2: d
"""


@pytest.mark.parametrize(
    ("sop", "steps"),
    [
        pytest.param(
            NUMBERED_HEADINGS, [("2", "Check the order"), ("3", "Decide")], id="numbered-headings"
        ),
        pytest.param(
            CALLED_STEPS,
            [("1", "Look up the order"), ("2", "Decide"), ("3", "Close")],
            id="skill-with-front-matter",
        ),
        pytest.param(LOOK_ALIKES, [("1", "First"), ("2", "Second")], id="fences-and-tables"),
        pytest.param(
            PLAIN_SECTIONS, [("3.1", "Read the bill"), ("3.2", "Pay it")], id="parts-of-a-section"
        ),
        pytest.param(
            PLAIN_STEPS, [("1", "Open the box"), ("2", "Take the letter out")], id="step-lines"
        ),
        pytest.param(
            BRACED_LIST,
            [("1", "Open the case."), ("2", "Read it"), ("3", "Close it.")],
            id="one-list",
        ),
        pytest.param(
            LIST_UNDER_A_HEADING,
            [("1", "Find the contract."), ("2", "End it.")],
            id="list-under-a-heading",
        ),
        pytest.param(
            "# Refund\n\n1. Find it.\n2. End it.\n\n## Contact\nThe desk.\n",
            [("1", "Find it."), ("2", "End it.")],
            id="list-under-the-title",
        ),
        pytest.param(UNDERLINED, [("1", "Find"), ("2", "End")], id="underlined-headings"),
        pytest.param(NESTED_HEADINGS, [("2.1", "Ask"), ("2.2", "Answer")], id="nested-headings"),
        pytest.param(
            STEPS_RESTART, [("1", "Inbound"), ("2", "Outbound")], id="steps-in-each-section"
        ),
    ],
)
def test_the_steps_of_a_form(sop: str, steps: list[tuple[str, str]]) -> None:
    found = split_sop(dedent(sop))

    assert steps == [(step.number, step.title) for step in found.steps]
    assert "" == found.why_not


@pytest.mark.parametrize(
    ("sop", "why"),
    [
        pytest.param("Be kind to the customer.", "no numbered headings", id="prose"),
        pytest.param("# A\n\n## Ask\nx\n\n## Answer\ny\n", "no numbered headings", id="no-numbers"),
        pytest.param("1. a\n2. b\n\nThen:\n\n1. c\n2. d\n", "2 numbered lists", id="two-lists"),
        pytest.param(
            "# Refund\n## Papers\n1. id\n2. card\n## Check\nx\n",
            "the numbered list (line 3) stands in a section of another title",
            id="a-list-of-something-else",
        ),
        pytest.param("# Papers\n1. id\n2. card\n# Check\n", "line 2", id="no-title-above"),
        pytest.param("# 1 a\n# 2 b\n# 2 c\n", "not in order: 2 (line 3)", id="a-number-twice"),
        pytest.param("# 1. Purpose\n\n# 2. Ask\n", "fewer than two", id="one-section"),
        pytest.param(
            "## 1.1 a\n## 1.2 b\n## 2.1 c\n", "several sections", id="parts-without-whole"
        ),
        pytest.param("```\n1. a\n2. b\n```\n", "no numbered headings", id="only-in-code"),
    ],
)
def test_where_the_steps_are_not_clear_the_reason_is_told(sop: str, why: str) -> None:
    found = split_sop(sop)

    assert () == found.steps
    assert why in found.why_not
    assert kept(found) == nonblank(sop)


def test_what_stands_around_the_steps_holds_for_all_of_them() -> None:
    found = split_sop(dedent(CALLED_STEPS))

    assert "## When to use" in found.general
    assert found.general.endswith("## Notes\nBe kind.")
    assert "Call `get_order`." in found.steps[0].text
    assert found.steps[0].text not in found.general


def test_a_section_between_steps_is_general_and_a_deeper_heading_is_not() -> None:
    found = split_sop("## 1. a\n### Note\nx\n## Remark\ny\n## 2. b\nz\n")

    assert ["Step", "str", "Step"] == [type(part).__name__ for part in found.parts]
    assert "## 1. a\n### Note\nx" == found.steps[0].text
    assert "## Remark\ny" == found.general


def test_markers_and_jumps_are_read_but_not_in_code() -> None:
    found = split_sop(dedent(CALLED_STEPS))
    quoted = split_sop(dedent(LOOK_ALIKES))

    assert [(Moment.BEFORE,), (), (Moment.AFTER,)] == [step.approvals for step in found.steps]
    assert [(), ("1",), ()] == [step.jumps for step in found.steps]
    assert [(), ()] == [step.approvals for step in quoted.steps]


def test_a_jump_to_a_clause_is_one_to_its_step() -> None:
    found = split_sop("# 1 a\nSkip to clause 3.2.\n# 2 b\nGo back to section 9.\n# 3 c\n3.2 Do.\n")

    assert [("3",), (), ()] == [step.jumps for step in found.steps]


def test_a_marker_that_belongs_to_no_step_is_a_warning() -> None:
    found = split_sop("Intro [Approval required: lead]\n\n# 1 a\n# 2 b\n")

    (warning,) = found.warnings
    assert warning.startswith("[Approval required: lead] stands in text that is no step")


@pytest.mark.parametrize("name", SECTIONS)
def test_the_steps_of_a_bundled_sop_without_numbers_are_its_sections(name: str) -> None:
    written = (bundled(name) / "steps.json").read_text(encoding="utf-8")

    assert steps_of(name) == written
    assert 3 <= len(json.loads(written)["steps"])


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.parent.name)
def test_the_bundled_sops_have_steps_and_lose_no_text(path: Path) -> None:
    sop = path.read_text(encoding="utf-8")

    found = split_sop(sop)

    if path.parent.name not in SECTIONS:
        assert 4 < len(found.steps)
        assert "numbered headings" == found.source
    assert kept(found) == nonblank(sop)


FRAGMENTS = [
    *("# 1. Purpose", "## 1. a", "## 2. b", "## 3. c", "### 2.1 x", "## Notes", "Appendix"),
    *("### Step 1: y", "### Step 2: z", "Step 3 - w", "1. one", "2. two", "3) three", "4.1 four"),
    *("  1. inner", "- bullet", "prose", "---", "===", "```", "~~~", "| 1. cell |", "> # 2. quote"),
    *("[APPROVAL REQUIRED]", "\t tab", "\u2028odd\x0c", "", ""),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=25))
def test_no_text_is_lost_and_none_is_moved(fragments: list[str]) -> None:
    sop = "\n".join(fragments)

    found = split_sop(sop)

    assert nonblank(sop) == kept(found)
    assert bool(found.steps) is (not found.why_not)
    numbers = [step.number for step in found.steps]
    assert len(numbers) == len(set(numbers))
    assert all(sop.split("\n")[step.line - 1].strip() for step in found.steps)


def kept(found: Procedure) -> list[str]:
    texts = [part.text if isinstance(part, Step) else part for part in found.parts]
    return nonblank("\n".join(texts))


def nonblank(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]
