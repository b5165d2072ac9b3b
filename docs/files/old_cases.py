"""Writes `cases.xlsx` and `procedure.docx`: a refund desk's old cases, as messy as they come.

Everything is made up. The same files come out each time. It needs openpyxl.
"""

from __future__ import annotations

import random
import zipfile
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from xml.sax.saxutils import escape

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

ROWS = 400
UNFINISHED = (17, 90, 233, 388)
KINDNESS = (120, 209)
"""Cases that somebody decided for the customer, against the procedure."""
GROUPS = {"A": "Case", "C": "Customer", "E": "Order", "H": "Return"}
MERGED = ("A1:M1", "A2:B2", "C2:D2", "E2:G2", "H2:J2", "K2:K3", "L2:L3", "M2:M3")
NAMES = (
    *("No", "reason", "name", "tier", "date", "value", "final sale", "received", "condition"),
    *("fee", "Decision", "Amount ", "Handled by"),
)
FIRST = ("Ada", "Ben", "Carla", "Dirk", "Elif", "Fynn", "Greta", "Hugo", "Ines", "Jonas")
LAST = ("Abel", "Brandt", "Conti", "Dorn", "Ekström", "Falk", "Groß", "Hahn", "Ivanov", "Jung")
PROCEDURE = """# Refund desk, procedure RD-07
Revision 4. The desk decides returns of the web shop. An answer has a decision and an amount in euros.
## 1 The parcel
1.1 If the return has not been received, the decision is wait and the amount is 0.
1.2 If the customer says that the goods are faulty, the decision is refund, of the whole order value, whatever else \
this procedure says of returns that were received.
## 2 What is not taken back
2.1 Goods of a final sale are not taken back: the decision is reject and the amount is 0.
2.2 Goods that come back later than the limit are not taken back: reject, 0. The days count from the order date to the \
day on which the return was received; the last day is included.
| Tier | Limit in days |
| standard | 30 |
| plus | 60 |
2.3 Goods that are worn are not taken back: reject, 0.
## 3 What is paid
3.1 Goods that do not fit: refund, of the order value less the fee. The fee is a share of the order value.
3.2 Goods that were sent back for a change of mind: customers of the tier plus are treated as in 3.1. Others get a \
voucher for the whole order value.
3.3 Amounts are rounded half up to cents.
"""


def decided(case: dict[str, object]) -> tuple[str, Decimal]:
    """Decide a case by RD-07."""
    value, fee = Decimal(str(case["value"])), Decimal(str(case["fee"]))
    ordered, received = case["date"], case["received"]
    if not isinstance(ordered, date) or not isinstance(received, date):
        return "wait", Decimal(0)
    if case["reason"] == "faulty":
        return "refund", value
    limit = 60 if case["tier"] == "plus" else 30
    late = (received - ordered).days > limit
    if case["final sale"] or late or case["condition"] == "worn":
        return "reject", Decimal(0)
    if case["reason"] == "changed mind" and case["tier"] == "standard":
        return "voucher", value
    left = value * (1 - fee)
    return "refund", left.quantize(Decimal("0.01"), ROUND_HALF_UP)


def dates_of(ordered: str, received: str) -> dict[str, date | None]:
    """Return the dates of a case as it is written in a file."""
    there = date.fromisoformat(received) if received else None
    return {"date": date.fromisoformat(ordered), "received": there}


def drawn(dice: random.Random, number: int) -> dict[str, object]:
    """Return one case; its labels are what the procedure makes of it."""
    ordered = date(2025, 6, 1) + timedelta(days=dice.randrange(100))
    tier = dice.choice(("standard", "standard", "plus"))
    limit = 60 if tier == "plus" else 30
    days = dice.choice((5, 12, 20, limit - 1, limit, limit, limit + 1, limit + 9))
    there = dice.random() > 0.15  # noqa: PLR2004 - a share
    case: dict[str, object] = {
        "No": f"{4711 + number * 3:07}",
        "reason": dice.choice(("does not fit", "changed mind", "changed mind", "faulty")),
        "name": f"{dice.choice(FIRST)} {dice.choice(LAST)}",
        "tier": tier,
        "date": ordered,
        "value": round(dice.uniform(9, 240), 2),
        "final sale": dice.random() < 0.12,  # noqa: PLR2004 - a share
        "received": ordered + timedelta(days=days) if there else None,
        "condition": dice.choice(("unworn", "unworn", "unworn", "worn")) if there else None,
        "fee": dice.choice((0.0, 0.1, 0.15)),
    }
    decision, amount = decided(case)
    if number in KINDNESS:
        decision, amount = "refund", Decimal(str(case["value"]))
    return {**case, "Decision": decision, "Amount ": float(amount), "Handled by": number % 7 + 1}


def make_workbook() -> None:
    """Write the old cases, with what people do to a sheet in a quarter."""
    dice = random.Random(7)  # noqa: S311 - reproducible, not secret
    book = Workbook()
    book.active.title = "Read me"
    book.active["A1"] = "Cases of the desk; one sheet for each quarter"
    sheet = book.create_sheet("Q3")
    sheet["A1"] = "Refund cases, third quarter"
    for letter, text in GROUPS.items():
        sheet[f"{letter}2"] = text
    for place, name in enumerate(NAMES, 1):
        sheet.cell(row=2 if place > 10 else 3, column=place, value=name)  # noqa: PLR2004 - column K
    for span in MERGED:
        sheet.merge_cells(span)
    cases = [drawn(dice, number) for number in range(ROWS)]
    for number, case in enumerate(cases):
        write_case(sheet, number, case)
    sheet.cell(row=60, column=1, value=sheet.cell(row=59, column=1).value)
    sheet.cell(row=5 + ROWS, column=5, value="Total")
    sheet.cell(row=5 + ROWS, column=6, value=f"=SUM(F4:F{4 + ROWS})")
    book.save("cases.xlsx")


def write_case(sheet: Worksheet, number: int, case: dict[str, object]) -> None:
    """Write a row as a person types it: with blanks behind, and sometimes unfinished."""
    row = 4 + number + (number > 200)  # noqa: PLR2004 - one row is empty in the middle
    for place, name in enumerate(NAMES, 1):
        sheet.cell(row=row, column=place, value=case[name])
    sheet.cell(row=row, column=10).number_format = "0%"
    if number % 9 == 0:
        sheet.cell(row=row, column=11, value=f"{case['Decision']} ")
    if number % 31 == 0:
        sheet.cell(row=row, column=2, value=str(case["reason"]).replace(" ", "\u00a0"))
    if number in UNFINISHED:
        sheet.cell(row=row, column=11).value = None


def make_document() -> None:
    """Write the procedure as Word would, with headings and a table."""
    body = list[str]()
    table = list[str]()
    for line in (*PROCEDURE.splitlines(), ""):
        if line.startswith("|"):
            cells = "".join(f"<w:tc>{paragraph(one)}</w:tc>" for one in line.strip("| ").split("|"))
            table.append(f"<w:tr>{cells}</w:tr>")
            continue
        body += [f"<w:tbl>{''.join(table)}</w:tbl>"] if table else []
        table.clear()
        level = len(line) - len(line.lstrip("#"))
        body.append(paragraph(line.lstrip("# "), f"Heading{level}" if level else ""))
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f"<w:document {space}><w:body>{''.join(body)}</w:body></w:document>",
    }
    with zipfile.ZipFile("procedure.docx", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph as Word writes it."""
    looks = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{looks}<w:r><w:t>{escape(text.strip())}</w:t></w:r></w:p>"


if __name__ == "__main__":
    make_workbook()
    make_document()
    print(f"written: cases.xlsx with {ROWS} rows, procedure.docx")
