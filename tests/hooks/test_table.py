"""The table of options: what pytest is told, and what wakes the plugin, follow from it."""

from __future__ import annotations

import re

import pytest

from tests.builders.tables import COMPARISON_GATES, TABLE, gate_names, table


def test_every_name_stands_once() -> None:
    assert len(TABLE) == len(table.SPECS)


def test_every_row_is_an_option_or_an_ini_value() -> None:
    assert all(spec.is_option or spec.is_ini for spec in TABLE)


def test_every_option_wakes_the_plugin() -> None:
    assert {spec.name for spec in TABLE if spec.is_option} == {*table.WAKING}


@pytest.mark.parametrize("name", [*gate_names(), *COMPARISON_GATES])
def test_the_help_of_gates_names_every_gate(name: str) -> None:
    (spec,) = (one for one in TABLE if one.name == "sop_gate")

    assert name in re.findall(r"\w+", spec.help)


def test_pytest_knows_every_row(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfig()

    for spec in TABLE:
        assert not spec.is_option or config.getoption(spec.name) is None
        assert not spec.is_ini or config.getini(spec.name) == []


@pytest.mark.parametrize("spec", [pytest.param(one, id=one.name) for one in TABLE if one.is_option])
def test_an_option_given_twice_is_collected_or_the_last_one_counts(
    pytester: pytest.Pytester, spec: table.OptionSpec
) -> None:
    config = pytester.parseconfig(f"{spec.option}=a", f"{spec.option}=b")

    assert (["a", "b"] if spec.repeatable else "b") == config.getoption(spec.name)
