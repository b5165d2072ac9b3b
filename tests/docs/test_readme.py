"""The domain that the first page shows can be copied from it, and is one."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.tools.lookup import look_up

PAGE = Path(__file__).parents[2] / "README.md"
BLOCK = r"`domains/returns/([a-z.]+)`:\n\n```[a-z]+\n(.*?)```"


def test_the_four_files_are_a_domain_of_two_tasks(tmp_path: Path) -> None:
    files = re.findall(
        r"`domains/returns/([a-z.]+)`:\n\n```[a-z]+\n(.*?)```", PAGE.read_text(), re.DOTALL
    )
    for name, text in files:
        (tmp_path / name).write_text(text)

    domain = load_domain(tmp_path)

    assert (4, 2, ()) == (len(files), len(domain.tasks), domain.warnings)
    assert ["refund", "decline"] == [task.expected["decision"] for task in domain.tasks]
    assert [{"days": 30}, {"days": 31}] == [
        look_up(domain.lookups["get_order"], {**task.inputs, **task.results}, task.inputs)
        for task in domain.tasks
    ]
