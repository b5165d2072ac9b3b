"""The list of domains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField, ToolSpec
from pytest_sopbench._reports.lists import listing_lines

HAZARD = OutputField(
    name="hazard_class",
    type=FieldType.ENUM,
    values=("Hazard Class A", "Hazard Class B"),
    aliases={"A": "Hazard Class A"},
)
DOMAIN = Domain(
    name="dangerous_goods",
    title="Classify dangerous goods",
    folder=Path("domains/dangerous_goods"),
    data_file=Path("domains/dangerous_goods/data.csv"),
    sop="",
    tool_specs=(
        ToolSpec(name="look_up", description="", parameters={}),
        ToolSpec(name="send", description="", parameters={}),
    ),
    fields=(HAZARD,),
    tasks=(),
    task_ids=("P_1", "P_2"),
    input_columns=("product_id", "weight"),
    licence="CC0-1.0",
)


def test_a_domain_is_listed() -> None:
    assert list(listing_lines([DOMAIN])) == [
        "dangerous_goods  Classify dangerous goods",
        "  holds    2 tasks, 2 tools, CC0-1.0",
        "  outputs  hazard_class (enum of 2)",
    ]


def test_a_quiet_list_is_a_line_for_each_domain() -> None:
    lines = list(listing_lines([DOMAIN, replace(DOMAIN, title="")], verbosity=-1))

    assert lines == [
        "dangerous_goods  2 tasks  Classify dangerous goods",
        "dangerous_goods  2 tasks",
    ]


def test_a_verbose_list_shows_what_was_inferred() -> None:
    assert list(listing_lines([DOMAIN], verbosity=1))[2:] == [
        "  folder   domains/dangerous_goods",
        "  inputs   product_id, weight",
        "  tools    look_up, send",
        "  outputs  hazard_class: enum of 2, inferred - Hazard Class A, Hazard Class B;",
        "           aliases: A for Hazard Class A",
    ]


def test_a_verbose_list_shows_what_was_declared() -> None:
    fields = (
        OutputField(name="refund", type=FieldType.NUMBER, tolerance=0.01, declared=True),
        OutputField(name="codes", type=FieldType.LIST, ordered=True, declared=True),
        OutputField(name="note", type=FieldType.TEXT, compare=Compare.PRESENT),
    )

    lines = list(listing_lines([replace(DOMAIN, fields=fields)], verbosity=1))

    assert lines[-3:] == [
        "  outputs  refund: number, declared, tolerance 0.01",
        "           codes: list, declared, ordered",
        "           note: text, present, inferred",
    ]


def test_values_of_private_fields_are_not_listed() -> None:
    lines = list(listing_lines([replace(DOMAIN, fields=(replace(HAZARD, private=True),))]))
    verbose = listing_lines([replace(DOMAIN, fields=(replace(HAZARD, private=True),))], verbosity=1)

    assert "Hazard Class" not in " ".join(" ".join([*lines, *verbose]).split())


def test_warnings_are_counted_and_shown_when_asked() -> None:
    warned = replace(DOMAIN, warnings=("labels 'A' and 'a' are one",), licence="")

    short, verbose = listing_lines([warned]), listing_lines([warned], verbosity=1)

    assert list(short)[-1] == "  warns    1 warning; -v shows them"
    assert list(verbose)[-1] == "  warning  labels 'A' and 'a' are one"


def test_a_domain_without_a_licence_says_so() -> None:
    assert "no licence stated" in list(listing_lines([replace(DOMAIN, licence="")]))[1]


def test_a_broken_domain_is_listed_with_its_problem() -> None:
    lines = list(listing_lines([DOMAIN], broken={"refunds": "data.csv: empty"}))

    assert lines[-3:] == ["", "refunds", "  problem  data.csv: empty"]


def test_broken_domains_alone_are_listed() -> None:
    assert list(listing_lines([], broken={"refunds": "empty"})) == ["refunds", "  problem  empty"]


def test_domains_stand_apart() -> None:
    assert list(listing_lines([DOMAIN, DOMAIN])).count("") == 1


def test_no_domain_is_said() -> None:
    (line,) = listing_lines([])

    assert line.startswith("no domain found")


def test_lines_are_80_columns_wide() -> None:
    wide = replace(
        DOMAIN,
        title="x" * 100,
        fields=(replace(HAZARD, values=tuple(f"label {n}" for n in range(20))),),
        input_columns=tuple(f"input_{n}" for n in range(40)),
    )

    assert max(map(len, listing_lines([wide], verbosity=1))) <= 80


def test_a_path_is_never_broken() -> None:
    folder = (
        Path("projects") / ("a folder with a long name " * 4).strip() / "domains" / ("lab" * 30)
    )

    lines = list(listing_lines([replace(DOMAIN, folder=folder)], verbosity=1))

    assert f"  folder   {folder}" in lines
