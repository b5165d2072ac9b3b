"""The first page: its first line runs, and the domain that it shows can be copied and is one."""

from __future__ import annotations

import re
import shutil
import sysconfig
from pathlib import Path

import pytest

from tests.builders.domains import load_domain, look_up

PAGE = Path(__file__).parents[2] / "README.md"
BLOCK = r"`domains/returns/([a-z.]+)`:\n\n```[a-z]+\n(.*?)```"
THE_LINE = "pytest --sop-domain dangerous_goods --agent mypkg:agent -n 8"

MYPKG = '''
"""The procedure DG-SOP-014, as a reader of it would write it down."""

import re

from pytest_sopbench import ToolError

SECTIONS = {
    "sds_label": "sds_label_text",
    "handling": "handling_guidelines",
    "transport": "transport_requirements",
    "disposal": "disposal_guidelines",
}


def agent(inputs, tools):
    undecided = {"hazard_class": "Unable to Decide"}
    if not re.fullmatch("UN[0-9]{4}", inputs["un_number"] or ""):
        return undecided
    scores = {}
    for name, section in SECTIONS.items():
        asked = {"product_id": inputs["product_id"], section: inputs[section]}
        try:
            score = tools.call(f"calculate_{name}_score", **asked)[f"{name}_score"]
        except ToolError:
            continue
        if score in (1, 2, 3, 4, 5):
            scores[name] = score
    missing = 4 - len(scores)
    if missing > 2 or missing == 2 and "sds_label" not in scores:
        return undecided
    total = sum(scores.values()) + missing * max(scores.values())
    place = (total >= 8) + (total >= 12) + (total >= 16)
    if 5 in scores.values():
        place = max(place, 2)
    elif not missing and inputs["net_quantity_kg"] <= 1 and place in (1, 2):
        place -= 1
    letter = "ABCD"[place]
    tools.call(
        "record_class",
        product_id=inputs["product_id"],
        hazard_class=letter,
        total_score=total,
    )
    return {"hazard_class": f"Hazard Class {letter}"}
'''


ALONE = THE_LINE.removesuffix(" -n 8").split()[1:]


def test_the_agent_of_the_line_is_right_if_it_follows_the_procedure(
    pytester: pytest.Pytester,
) -> None:
    package = pytester.mkpydir("mypkg")
    (package / "__init__.py").write_text(MYPKG)

    result = pytester.runpytest(*ALONE)

    assert 0 == result.ret
    result.assert_outcomes(passed=327)
    result.stdout.fnmatch_lines(
        ["*SOP: dangerous_goods, agent mypkg:agent*", "TSR *100.0% correct, 327 of 327 *"]
    )


def test_the_line_runs_the_agent_of_the_page_which_is_no_good(pytester: pytest.Pytester) -> None:
    """As a shell would: the program `pytest`, in a folder with `mypkg`."""
    text = PAGE.read_text("utf-8")
    shown = re.search(r"```python\n# file: mypkg.py\n(.*?)```", text, re.DOTALL)
    program = shutil.which("pytest", path=sysconfig.get_path("scripts"))
    assert shown is not None
    assert program is not None
    (pytester.path / "mypkg.py").write_text(shown[1])

    # Fewer workers and tasks: more would tell no more.
    words = THE_LINE.replace("-n 8", "-n 2").split()[1:]
    result = pytester.run(program, *words, "--sop-sample=6")

    assert f"\n$ {THE_LINE}\n" in text
    assert 1 == result.ret
    result.stdout.re_match_lines([r"TSR +\d+\.\d% correct, \d+ of 6 "])


def test_the_four_files_are_a_domain_of_two_tasks(tmp_path: Path) -> None:
    files = re.findall(BLOCK, PAGE.read_text(), re.DOTALL)
    for name, text in files:
        (tmp_path / name).write_text(text)

    domain = load_domain(tmp_path)

    assert (4, 2, ()) == (len(files), len(domain.tasks), domain.warnings)
    assert ["refund", "decline"] == [task.expected["decision"] for task in domain.tasks]
    assert [{"days": 30}, {"days": 31}] == [
        look_up(domain.lookups["get_order"], {**task.inputs, **task.results}, task.inputs)
        for task in domain.tasks
    ]
