"""The document of a procedure becomes text, with its headings and tables."""

from __future__ import annotations

import runpy
import sys
import zipfile
from pathlib import Path

import pytest

from pytest_sopbench.errors import LoadingError
from tests.builders.made import read_procedure

OLD_CASES = Path(__file__).parents[2] / "docs" / "files" / "old_cases.py"
TABLE = "| Tier | Limit in days |\n| --- | --- |\n| standard | 30 |\n| plus | 60 |\n"
PAGE = """<html><head><title>x</title><style>p {}</style></head><body>
<h1>Refund desk</h1><p>1.1 Goods that are <b>worn</b> are&nbsp;not taken back.</p>
<script>x()</script>
<h2>Limits</h2><table><tr><td>Tier</td><td>Limit in days</td></tr>
<tr><td>standard</td><td>30</td></tr>
<tr><td>plus</td><td>60</td></tr></table><ul><li>one</li></ul></body></html>"""


def pdf_of(*lines: tuple[int, int, str], ruled: bool = False) -> bytes:
    """Return a page with texts, each with the size of its letters and its height on the page."""
    texts = [f"BT /F1 {size} Tf 72 {height} Td ({text}) Tj ET" for size, height, text in lines]
    cells = [(72, "Tier"), (172, "Days"), (72, "plus"), (172, "60")] if ruled else []
    for place, (left, text) in enumerate(cells):
        texts.append(f"BT /F1 10 Tf {left + 4} {506 - 20 * (place // 2)} Td ({text}) Tj ET")
    for place in range(3 if ruled else 0):
        texts.append(f"72 {520 - 20 * place} m 272 {520 - 20 * place} l S")
        texts.append(f"{72 + 100 * place} 520 m {72 + 100 * place} 480 l S")
    stream = "\n".join(texts).encode()
    font = b"/Resources << /Font << /F1 5 0 R >> >>"
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R %s >>" % font,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(bodies, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start
    return data + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer


def test_a_word_document_keeps_headings_and_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(OLD_CASES))["make_document"]()

    file, text, notes = read_procedure(Path("procedure.docx"))

    assert ("sop.md", ()) == (file, notes)
    assert text.startswith("# Refund desk, procedure RD-07\n\nRevision 4.")
    assert "\n\n## 2 What is not taken back\n\n2.1 Goods of a final sale" in text
    assert f"\n\n{TABLE}\n2.3 Goods that are worn" in text


def test_a_page_keeps_headings_tables_and_lists_and_no_scripts(tmp_path: Path) -> None:
    (tmp_path / "sop.html").write_text(PAGE, "utf-8")

    _, text, _ = read_procedure(tmp_path / "sop.html")

    assert text.startswith("# Refund desk\n\n1.1 Goods that are **worn** are not taken back.\n")
    assert f"## Limits\n\n{TABLE}" in text
    assert text.endswith("- one\n")
    assert "x()" not in text


def test_larger_lines_of_a_pdf_are_headings_and_ruled_ones_a_table(tmp_path: Path) -> None:
    lines = [(20, 720, "Refund desk"), (14, 690, "1 Scope"), (10, 670, "1.1 Worn goods are not")]
    path = tmp_path / "sop.pdf"
    path.write_bytes(pdf_of(*lines, (10, 656, "taken back at all."), ruled=True))

    file, text, notes = read_procedure(path)

    assert "sop.md" == file
    assert text.startswith(
        "# Refund desk\n\n## 1 Scope\n\n1.1 Worn goods are not\ntaken back at all."
    )
    assert "| Tier | Days |\n| --- | --- |\n| plus | 60 |" in text
    assert ("sop.pdf: read headings and tables through once more",) == notes


@pytest.mark.parametrize(("name", "file"), [("a.md", "sop.md"), ("a.TXT", "sop.txt")])
def test_plain_text_stays_what_it_is(tmp_path: Path, name: str, file: str) -> None:
    (tmp_path / name).write_bytes("# Größe\r\n\r\n1.1 Klein.  \r\n".encode("cp1252"))

    made, text, notes = read_procedure(tmp_path / name)

    assert file == made
    assert "# Größe\n\n1.1 Klein.\n" == text
    assert ("it is not UTF-8, and is read as cp1252",) == notes


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        pytest.param("a.doc", b"x", "save it as .docx", id="old document"),
        pytest.param("a.png", b"x", "it can be .docx", id="picture"),
        pytest.param("a.md", b" \n", "the file is empty", id="empty"),
        pytest.param("a.docx", b"text", "is no Word document", id="text called docx"),
        pytest.param("a.docx", b"PK\5\6" + bytes(18), "mammoth cannot read it", id="empty zip"),
        pytest.param("a.pdf", b"text", "is no PDF", id="text called pdf"),
        pytest.param("a.pdf", b"%PDF-1.4\nrest", "pdfplumber cannot read it", id="half a pdf"),
        pytest.param("a.pdf", pdf_of(), "holds no text", id="scanned"),
        pytest.param("a.html", b"<script>x</script>", "holds no text", id="scripts alone"),
    ],
)
def test_a_document_that_gives_no_text_gets_one_clear_line(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(LoadingError, match=problem):
        read_procedure(tmp_path / name)


@pytest.mark.parametrize("name", ["missing.docx", "."])
def test_a_document_that_is_no_file_gets_one_clear_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(LoadingError, match=r"no such file|is a folder"):
        read_procedure(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "module"),
    [("a.docx", "mammoth"), ("a.html", "markdownify"), ("a.pdf", "pdfplumber")],
    ids=["word", "page", "pdf"],
)
def test_a_missing_library_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str
) -> None:
    path = tmp_path / name
    path.write_bytes(pdf_of() if name.endswith("pdf") else b"<p>x</p>")
    if name.endswith("docx"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x", "")
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(LoadingError, match=rf"{module} is needed.*\npip install {module}"):
        read_procedure(path)


def test_names_of_tools_and_signs_reach_the_procedure_as_they_were_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = "Call get_konto_stand(konto_nr) first - 5 * 3 - and write # or [x] as <b>."
    shown = typed.replace("<", "&lt;").replace(">", "&gt;")
    row = f"<tr><td>get_order</td><td>{shown}</td></tr>"
    page = f"<h2>{shown}</h2><p>{shown}</p><ol><li>{shown}</li></ol><table>{row}</table>"
    (tmp_path / "sop.html").write_text(page, "utf-8")
    make_document = runpy.run_path(str(OLD_CASES))["make_document"]
    lines = f"# {typed}\n{typed}\n{typed}\n| get_order | {typed} |"
    monkeypatch.setitem(make_document.__globals__, "PROCEDURE", lines)
    make_document()

    for name in ("sop.html", "procedure.docx"):
        _, text, _ = read_procedure(tmp_path / name)

        assert 4 == text.count(typed)
        assert "get_order" in text
        assert "\\" not in text
