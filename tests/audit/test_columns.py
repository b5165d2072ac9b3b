"""Which columns are about persons, by their names and cells: who is named never reaches a model."""

from __future__ import annotations

import pytest

from pytest_sopbench._audit.measures.columns import about_persons

FEW = ["Jana Vogt", "Ralf Berger", "Mia Krüger", "Can Aydin"]
LAST_FIRST = ["Vogt, Jana", "Berger, Ralf", "Krüger, Mia"]
HEADS = [
    *("Kunde", "Customer", "Bearbeiter/in", "Kund*in", "Mitarbeiter:in", "Sachbearbeiter_in"),
    *("Zuständig", "Zuständige", "Versicherungsnehmer", "Versicherungsnehmer/innen"),
]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("names", [FEW * 5, LAST_FIRST * 7], ids=["first-last", "last-first"])
def test_few_persons_who_come_again_are_persons(head: str, names: list[str]) -> None:
    assert "names" == about_persons(head, names)


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        ("Kunde", ["privat", "gewerblich"]),
        ("Customer", ["Premium", "Basic"]),
        ("Zuständig", ["Ja", "Nein"]),
        ("Product name", ["Blue Lamp", "Red Chair"]),
        ("Status", ["In Arbeit", "Offen"]),
    ],
)
def test_a_kind_of_customer_is_no_person(head: str, cells: list[str]) -> None:
    assert "" == about_persons(head, cells * 9)
