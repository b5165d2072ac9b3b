"""Tables as teams really have them, each with what a careful colleague would make of it.

Written before the code that reads them: what stands under `sees` is what a person who knows the
team would type into a clean table, and `never` is what that person would refuse to hand on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

import openpyxl

Rows = list[list[Any]]
NAMES: Final = ("Ada Abel", "Ben Brandt", "Carla Conti", "Dirk Dorn", "Eva Ernst", "Finn Falk")
ROWS: Final = 30


@dataclass(frozen=True, kw_only=True)
class Team:
    """A table, how it is asked for, and what becomes of its columns.

    Attributes:
        write: writes the table, and returns its path.
        asked: the options beside the document.
        parts: what each column is for: id, input, tool, output, private, or dropped.
        sees: the first cells of columns of the data file.
        read: the first values of columns as a tool or an input hands them over.
        told: what is said, whatever the line ends.
    """

    write: Callable[[Path], Path]
    asked: Sequence[str] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    sees: Mapping[str, Sequence[str]] = field(default_factory=dict)
    read: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    told: Sequence[str] = ()


def cycle(*values: Any) -> Callable[[int], Any]:
    return lambda number: values[number % len(values)]


def table(**columns: Callable[[int], Any]) -> Rows:
    """Rows under names, in which `_` stands for a blank."""
    names = [name.replace("_", " ") for name in columns]
    return [names, *([one(number) for one in columns.values()] for number in range(ROWS))]


def ids(form: str = "K-{:04}") -> Callable[[int], str]:
    return lambda number: form.format(number + 1)


def book(
    rows: Rows, *, change: Callable[[Any], None] = lambda _: None, more: Mapping[str, Rows] = {}
) -> Callable[[Path], Path]:
    """A workbook whose first sheet has these rows, then changed, beside more sheets."""

    def write(folder: Path) -> Path:
        made = openpyxl.Workbook()
        sheet: Any = made.active
        for row in rows:
            sheet.append(row)
        for title, others in more.items():
            other = made.create_sheet(title)
            for row in others:
                other.append(row)
        change(sheet)
        made.save(folder / "cases.xlsx")
        return folder / "cases.xlsx"

    return write


def text(rows: Rows, *, sign: str = ";", encoding: str = "utf-8") -> Callable[[Path], Path]:
    """A file with separators, written as Excel does: quotes only where they are needed."""

    def cell(value: Any) -> str:
        plain = "" if value is None else str(value)
        return f'"{plain}"' if sign in plain else plain

    def write(folder: Path) -> Path:
        lines = "".join(f"{sign.join(map(cell, row))}\r\n" for row in rows)
        (folder / "cases.csv").write_bytes(lines.encode(encoding))
        return folder / "cases.csv"

    return write


# The decision follows two columns together, so no column alone tells it.
kind = cycle("late", "broken", "late")
tier = cycle("plus", "plus", "basic", "basic")


def decided(yes: Any = "pay", no: Any = "refuse") -> Callable[[int], Any]:
    return lambda number: yes if (kind(number) == "late") == (tier(number) == "plus") else no


ASKED: Final = ("--output", "Decision", "--input", "Reason")
GERMAN: Final = ("--output", "Entscheidung", "--input", "Grund")

TEAMS: Final[Mapping[str, Team]] = {
    "german claims: decimals as text, with groups": Team(
        write=book(
            table(
                Schadennummer=ids(),
                Grund=kind,
                Tarif=tier,
                Betrag=cycle("2.007,01", "119,90", "1.500", "35", "12.000,00"),
                Entscheidung=decided("zahlen", "ablehnen"),
            )
        ),
        asked=GERMAN,
        parts={"Betrag": "tool", "Schadennummer": "id"},
        sees={"Betrag": ["2007.01", "119.90", "1500", "35", "12000.00"]},
        read={"Betrag": [2007.01, 119.9, 1500, 35, 12000.0]},
        told=["Betrag: decimal commas became points"],
    ),
    "swiss refunds: apostrophes between thousands": Team(
        write=book(
            table(
                Fall=ids(),
                Grund=kind,
                Tarif=tier,
                Wert=cycle("1'234.50", "99.95", "12\u2019000.00", "7"),
                Entscheidung=decided(),
            )
        ),
        asked=GERMAN,
        sees={"Wert": ["1234.50", "99.95", "12000.00", "7"]},
        read={"Wert": [1234.5, 99.95, 12000.0, 7]},
    ),
    "french returns: blanks between thousands": Team(
        write=book(
            table(
                Dossier=ids(),
                Motif=kind,
                Niveau=tier,
                Montant=cycle("1 234,5", "1\u202f234,50", "12\u00a0000,00", "8,25"),
                Décision=decided("payer", "refuser"),
            )
        ),
        asked=("--output", "Décision", "--input", "Motif"),
        sees={"Montant": ["1234.5", "1234.50", "12000.00", "8.25"]},
        read={"Montant": [1234.5, 1234.5, 12000.0, 8.25]},
    ),
    "american refunds: commas between thousands": Team(
        write=text(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Value=cycle("1,234.50", "99.95", "12,000.00", "7"),
                Decision=decided(),
            ),
            sign=",",
        ),
        asked=ASKED,
        sees={"Value": ["1234.50", "99.95", "12000.00", "7"]},
        read={"Value": [1234.5, 99.95, 12000.0, 7]},
    ),
    "mixed forms: nobody can say what 1.234 is": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Value=cycle("1.234", "1,5", "7"),
                Decision=decided(),
            )
        ),
        asked=ASKED,
        sees={"Value": ["1.234", "1,5", "7"]},
        read={"Value": ["1.234", "1,5", "7"]},
        told=["Value", "'9.999' in rows 2, 5, 8 and 7 more", "--decimal"],
    ),
    "mixed forms: the same in a csv of two programs": Team(
        write=text(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Value=cycle("1.234,50", "12.75", "7"),
                Decision=decided(),
            )
        ),
        asked=ASKED,
        sees={"Value": ["1.234,50", "12.75", "7"]},
        read={"Value": ["1.234,50", "12.75", "7"]},
        told=["Value", "'99.99' in rows 3, 6, 9 and 7 more"],
    ),
    "thousands alone: 1.234 in every row of a csv with semicolons": Team(
        write=text(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Value=cycle("1.234", "12.500", "7.000"),
                Decision=decided(),
            )
        ),
        asked=ASKED,
        read={"Value": ["1.234", "12.500", "7.000"]},
        told=["Value", "--decimal"],
    ),
    "thousands alone, and the user knows": Team(
        write=text(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Value=cycle("1.234", "12.500", "7.000"),
                Decision=decided(),
            )
        ),
        asked=(*ASKED, "--decimal", "comma"),
        read={"Value": [1234, 12500, 7000]},
    ),
    "thousands alone beside a column that settles them": Team(
        write=text(
            table(
                Fall=ids(),
                Grund=kind,
                Tarif=tier,
                Grenze=cycle("1.500", "2.000", "10.000"),
                Betrag=cycle("1.499,90", "12,00", "3,50"),
                Entscheidung=decided(),
            )
        ),
        asked=GERMAN,
        read={"Grenze": [1500, 2000, 10000], "Betrag": [1499.9, 12.0, 3.5]},
    ),
    "two answer columns: the clerk's and the manager's": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Approved_by_manager=lambda n: "yes" if decided(1, 0)(n) or n == 7 else "no",
                Final_outcome=lambda n: "paid out" if decided(1, 0)(n) and n != 5 else "closed",
                Decision=decided(),
            )
        ),
        asked=ASKED,
        parts={"Approved by manager": "dropped", "Final outcome": "dropped", "Tier": "tool"},
        told=["Approved by manager", "Final outcome", "--tool"],
    ),
    "a code that is the answer in other words": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Booking_code=lambda number: 410 if decided(1, 0)(number) else 990,
                Decision=decided(),
            )
        ),
        asked=ASKED,
        parts={"Booking code": "dropped", "Tier": "tool"},
        told=["Booking code"],
    ),
    "persons: names of customers and clerks, mail and phone": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Customer=cycle(*NAMES),
                Handled_by=cycle("MK", "js", "T. Weber"),
                Contact=cycle("a@example.org", "b@example.org"),
                Callback=cycle("+49 30 1234567", "030 / 765 43 21"),
                Product_name=cycle("Kettle", "Lamp"),
                Decision=decided(),
            )
        ),
        asked=ASKED,
        parts={
            "Customer": "private",
            "Handled by": "private",
            "Contact": "private",
            "Callback": "private",
            "Product name": "tool",
        },
        told=["--tool"],
    ),
    "persons: asked for, so served": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Customer_name=cycle(*NAMES),
                Email=cycle("a@example.org", "b@example.org"),
                Decision=decided(),
            )
        ),
        asked=(*ASKED, "--tool", "Customer name"),
        parts={"Customer name": "tool", "Email": "private"},
    ),
    "german onboarding: persons in german": Team(
        write=text(
            table(
                Antragsnr=ids("{:06}"),
                Grund=kind,
                Tarif=tier,
                Nachname=cycle("Müller", "Groß"),
                Sachbearbeiterin=cycle("Öztürk", "Weiß"),
                Telefonnummer=cycle("030 1234567", "0171 7654321"),
                Versicherungsnehmer=cycle(*NAMES),
                Einkommen=cycle("2.850,00", "980,50"),
                Entscheidung=decided("annehmen", "ablehnen"),
            ),
            encoding="cp1252",
        ),
        asked=GERMAN,
        parts={
            "Antragsnr": "id",
            "Nachname": "private",
            "Sachbearbeiterin": "private",
            "Telefonnummer": "private",
            "Versicherungsnehmer": "private",
        },
        sees={"Antragsnr": ["000001", "000002"], "Nachname": ["Müller", "Groß"]},
        read={"Einkommen": [2850.0, 980.5]},
        told=["cp1252"],
    ),
    "the largest sheet is the third": Team(
        write=book(
            [["Read me"], ["Numbers are in EUR"]],
            more={
                "Lists": [["Reason"], ["late"], ["broken"]],
                "Q3": table(Case_No=ids(), Reason=kind, Tier=tier, Decision=decided()),
            },
        ),
        asked=ASKED,
        parts={"Tier": "tool"},
        told=["sheet 'Q3' is read, the largest", "Sheet", "Lists"],
    ),
    "a coloured sheet is not the largest": Team(
        write=book(
            [["Read me"]],
            change=lambda sheet: setattr(
                sheet["Z5000"], "fill", openpyxl.styles.PatternFill("solid", "FFFF00")
            ),
            more={"Q3": table(Case_No=ids(), Reason=kind, Tier=tier, Decision=decided())},
        ),
        asked=ASKED,
        parts={"Tier": "tool"},
        told=["sheet 'Q3' is read, the largest"],
    ),
    "dates: german and american ones in one column": Team(
        write=text(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Received=cycle("01.02.2026", "02/01/2026", "28.02.2026"),
                Decision=decided(),
            )
        ),
        asked=ASKED,
        sees={"Received": ["01.02.2026", "02/01/2026", "28.02.2026"]},
        told=["Received", "rows 3, 6, 9 and 7 more"],
    ),
    "dates: german ones as text": Team(
        write=text(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Received=cycle("01.02.2026", "28.02.2026", "3.4.2026"),
                Decision=decided(),
            )
        ),
        asked=ASKED,
        sees={"Received": ["2026-02-01", "2026-02-28", "2026-04-03"]},
        told=["Received"],
    ),
    "dates: american ones, which a 25 settles": Team(
        write=text(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Received=cycle("02/01/2026", "02/25/2026"),
                Decision=decided(),
            ),
            sign=",",
        ),
        asked=ASKED,
        sees={"Received": ["2026-02-01", "2026-02-25"]},
    ),
    "dates: with slashes, and nothing settles them": Team(
        write=text(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Received=cycle("02/01/2026", "03/04/2026"),
                Decision=decided(),
            ),
            sign=",",
        ),
        asked=ASKED,
        sees={"Received": ["02/01/2026", "03/04/2026"]},
        told=["Received", "day or month"],
    ),
    "dates: real ones beside text": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Received=cycle(datetime(2026, 2, 1), "28.02.2026"),  # noqa: DTZ001 - as Excel has them
                Decision=decided(),
            )
        ),
        asked=ASKED,
        sees={"Received": ["2026-02-01", "2026-02-28"]},
    ),
    "truth: ja and nein, x and nothing, a check mark": Team(
        write=book(
            table(
                Fall=ids(),
                Grund=kind,
                Stammkunde=cycle("ja", "nein"),
                Beleg=cycle("x", None, "x", None, None),
                Geprüft=cycle("✓", None, None),
                Entscheidung=decided(),
            )
        ),
        asked=GERMAN,
        sees={"Stammkunde": ["ja", "nein"], "Beleg": ["x", "", "x", "", ""], "Geprüft": ["✓", ""]},
        read={"Beleg": ["x", None, "x", None, None]},
    ),
    "an answer that is x or nothing": Team(
        write=book(table(Case_No=ids(), Reason=kind, Tier=tier, Decision=cycle("x", None, None))),
        asked=ASKED,
        told=[
            "Decision: 'x' or nothing",
            "rows 3 (K-0002), 4 (K-0003)",
            "and 16 more: Decision is empty",
        ],
    ),
    "percentages and currency as text": Team(
        write=text(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Fee=cycle("15 %", "2,5 %", "0%"),
                Value=cycle("1.234,50 €", "12,00 €"),
                Limit=cycle("€ 100", "€ 2.500,00"),
                Decision=decided(),
            )
        ),
        asked=ASKED,
        sees={"Fee": ["0.15", "0.025", "0"], "Value": ["1234.50", "12.00"]},
        read={"Fee": [0.15, 0.025, 0], "Value": [1234.5, 12.0], "Limit": [100, 2500.0]},
        told=["Value, Limit: '€'", "Fee: 30 cells with a percentage"],
    ),
    "two currencies in one column": Team(
        write=text(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Value=cycle("CHF 1'234.50", "EUR 12.00", "CHF 7.00"),
                Decision=decided(),
            ),
            sign=",",
        ),
        asked=ASKED,
        sees={"Value": ["CHF 1'234.50", "EUR 12.00", "CHF 7.00"]},
        told=["Value", "CHF", "EUR", "rows 3, 6, 9 and 7 more"],
    ),
    "ids with zeros: a number format, and text": Team(
        write=book(
            table(
                Case_No=lambda number: 4711 + number,
                Reason=kind,
                Tier=tier,
                Account=lambda number: f"00{number:04}",
                Decision=decided(),
            ),
            change=lambda sheet: [
                setattr(sheet.cell(row, 1), "number_format", "0000000") for row in range(2, 32)
            ],
        ),
        asked=ASKED,
        sees={"Case No": ["0004711", "0004712"], "Account": ["000000", "000001"]},
        read={"Account": ["000000", "000001"]},
    ),
    "hidden: a row, a column and a sheet": Team(
        write=book(
            table(Case_No=ids(), Reason=kind, Tier=tier, Score=lambda n: n % 7, Decision=decided()),
            change=lambda sheet: (
                setattr(sheet.row_dimensions[4], "hidden", True),
                setattr(sheet.column_dimensions["D"], "hidden", True),
                setattr(sheet.parent["Old"], "sheet_state", "hidden"),
            ),
            more={"Old": table(Case_No=ids(), Reason=kind, A=kind, B=kind, C=kind, D=kind)},
        ),
        asked=ASKED,
        parts={"Score": "tool"},
        told=["hidden rows are read", "hidden columns", "Score", "Old (hidden)"],
    ),
    "merged cells, a title, two rows of names, blanks": Team(
        write=book(
            [
                ["Claims of Q3"],
                [],
                ["Case", None, "Customer", None, "Decision"],
                ["No", "reason ", "tier", "since", None],
                *(
                    [f"K{n}", kind(n), tier(n), date(2020, 1, 1 + n % 9), f"{decided()(n)} "]
                    for n in range(ROWS)
                ),
            ],
            change=lambda sheet: [
                sheet.merge_cells(span) for span in ("A1:E1", "A3:B3", "C3:D3", "E3:E4")
            ],
        ),
        asked=("--output", "Decision", "--input", "Case reason"),
        parts={"Customer tier": "tool"},
        sees={"Decision": ["pay", "refuse"], "Customer since": ["2020-01-01", "2020-01-02"]},
        told=["row 1 stands above the names"],
    ),
    "formulas without values, errors, a total": Team(
        write=book(
            [
                *table(
                    Case_No=ids(),
                    Reason=kind,
                    Tier=tier,
                    Days=cycle(7, "#N/A", 8),
                    Score=lambda n: f"=D{n + 2}*2",
                    Decision=decided(),
                ),
                [None, None, "Total", 400, None, None],
            ]
        ),
        asked=ASKED,
        sees={"Days": ["7", "", "8"]},
        told=[
            "Days (rows 3, 6, 9 and 7 more): 10 cells with an error of Excel",
            "Score",
            "formula",
            "row 32",
        ],
    ),
    "an index column, and names that are twice there": Team(
        write=text(
            [
                ["", "Case No", "Reason", "Tier", "Date", "Date", "Decision"],
                *(
                    [n, f"K{n}", kind(n), tier(n), f"2026-01-{n % 28 + 1:02}", "x", decided()(n)]
                    for n in range(ROWS)
                ),
            ],
            sign=",",
        ),
        asked=ASKED,
        parts={"Case No": "id", "Column A": "dropped", "Date (2)": "tool"},
        told=["Column A: it counts the rows"],
    ),
    "the same trouble in many columns is said once": Team(
        write=text(
            [
                ["Fall", "Grund", *(f"Wert {n}" for n in range(29)), "Entscheidung"],
                *(
                    [f"K{n}", kind(n), *(f"{n},{place % 10}5" for place in range(29)), decided()(n)]
                    for n in range(ROWS)
                ),
            ]
        ),
        asked=GERMAN,
        read={"Wert 0": [0.05, 1.05]},
        told=["Wert 0, Wert 1, Wert 2 and 26 more: decimal commas became points"],
    ),
    "ids and codes that look like numbers stay what they are": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Policy_No=lambda n: f"12.345.{600 + n}",
                Zip=cycle("01067", "80331"),
                Clause=cycle("2.1", "2.10"),
                Decision=decided(),
            )
        ),
        asked=ASKED,
        read={
            "Policy No": ["12.345.600", "12.345.601"],
            "Zip": ["01067", "80331"],
            "Clause": ["2.1", "2.10"],
        },
    ),
    "what is left of the answer is kept: a prior decision": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Prior_decision=cycle("pay", "refuse", "none", "pay", "pay"),
                Credit_check_result=cycle("good", "bad", "good", "good", "bad", "good", "bad"),
                Decision=decided(),
            )
        ),
        asked=ASKED,
        parts={"Prior decision": "tool", "Credit check result": "tool"},
    ),
    "a second answer in other words: reasons, payouts, a status of the manager": Team(
        write=book(
            table(
                Fall=ids(),
                Grund=kind,
                Tarif=tier,
                Betrag=lambda n: f"{n % 9},50" if decided(1, 0)(n) else "0,00",
                Ausgezahlt=lambda n: n % 9 + 0.5 if decided(1, 0)(n) else 0,
                Ablehnungsgrund=lambda n: None if decided(1, 0)(n) else "Frist",
                Freigabe_Leitung=lambda n: "ok" if decided(1, 0)(n) else "abgelehnt",
                Entscheidung=decided("zahlen", "ablehnen"),
            )
        ),
        asked=(*GERMAN, "--output", "Betrag"),
        parts={
            "Tarif": "tool",
            "Ausgezahlt": "dropped",
            "Ablehnungsgrund": "dropped",
            "Freigabe Leitung": "dropped",
        },
    ),
    "an amount that was paid, written otherwise than the answer": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Transfer=lambda n: f"{n}.50",
                Decision=decided(),
                Refund=lambda n: n + 0.5,
            )
        ),
        asked=(*ASKED, "--output", "Refund"),
        parts={"Transfer": "dropped"},
        told=["Transfer: it has the values of 'Refund'"],
    ),
    "persons without a word that says so": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Who=lambda n: f"{NAMES[n % 6].split()[0]} {chr(65 + n % 26)}ber",
                City=cycle("New York", "Los Angeles", "San Diego"),
                Decision=decided(),
            )
        ),
        asked=ASKED,
        parts={"Who": "private", "City": "tool"},
    ),
    "prices of a shop: no cents, a word among numbers": Team(
        write=text(
            table(
                Fall=ids(),
                Grund=kind,
                Tarif=tier,
                Preis=cycle("45,-", "1.200,00", "12,50"),
                Alter=lambda n: "ca. 20" if n == 3 else n,
                Entscheidung=decided(),
            )
        ),
        asked=GERMAN,
        read={"Preis": [45.0, 1200.0, 12.5], "Alter": ["0", "1", "2", "ca. 20"]},
        told=["Alter (row 5)"],
    ),
    "hr: lines are numbered, and persons have a number": Team(
        write=book(
            table(
                Nr=lambda n: n + 1,
                Personalnummer=ids("P{:05}"),
                Grund=kind,
                Tarif=tier,
                Gehalt=lambda n: 3000 + 7 * n,
                Entscheidung=decided(),
            )
        ),
        asked=(*GERMAN, "--id", "Personalnummer"),
        parts={"Personalnummer": "id", "Gehalt": "tool"},
    ),
    "what is written after the decision": Team(
        write=book(
            table(
                Case_No=ids(),
                Reason=kind,
                Tier=tier,
                Decision=decided(),
                Transfer=lambda n: n % 7 if decided(1, 0)(n) else 0,
                Letter=cycle("A", "B", "C", "D", "A", "B", "C"),
            )
        ),
        asked=ASKED,
        parts={"Tier": "tool", "Transfer": "dropped", "Letter": "dropped"},
        told=["Transfer, Letter: it stands right of the answer"],
    ),
    "the decision stands first, and the case right of it": Team(
        write=book(table(Case_No=ids(), Decision=decided(), Reason=kind, Tier=tier)),
        asked=ASKED,
        parts={"Tier": "tool", "Reason": "input"},
    ),
    "ids of digits that are text in the workbook": Team(
        write=book(table(Konto=ids("{}"), Grund=kind, Tarif=tier, Entscheidung=decided())),
        asked=GERMAN,
        parts={"Konto": "id"},
        read={"Konto": ["1", "2", "3"]},
    ),
    "ids with points, whose last zeros count": Team(
        write=text(
            table(
                Fall=lambda n: f"2024.{10 + n:03}",
                Policennummer=lambda n: f"12.345.{600 + n}",
                Grund=kind,
                Tarif=tier,
                Entscheidung=decided(),
            )
        ),
        asked=(*GERMAN, "--id", "Fall"),
        read={"Fall": ["2024.010", "2024.011"], "Policennummer": ["12.345.600", "12.345.601"]},
    ),
}
