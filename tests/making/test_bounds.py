"""Files that unpack to far more than they are: each is refused, in bounded time and memory."""

from __future__ import annotations

import io
import os
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pytest_sopbench._making import bounded
from pytest_sopbench._making.documents import read_procedure
from pytest_sopbench._making.sheet import read_grid
from pytest_sopbench.errors import LoadingError, RowError

TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument\
.wordprocessingml.document.main+xml"/></Types>"""
RELATIONS = """<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="r" Target="word/document.xml" Type="http://schemas.openxmlformats.org/\
officeDocument/2006/relationships/officeDocument"/></Relationships>"""
WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(body: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", TYPES)
        file.writestr("_rels/.rels", RELATIONS)
        file.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{WORDS}"><w:body>{body}</w:body></w:document>',
        )
    return packed.getvalue()


def pdf(page: bytes) -> bytes:
    """A page whose content is packed; a reader of PDF looks for the objects itself."""
    stream = zlib.compress(page, 9)
    bodies = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(stream), stream),
    )
    objects = b"".join(b"%d 0 obj\n%b\nendobj\n" % (at, one) for at, one in enumerate(bodies, 1))
    return b"%PDF-1.4\n" + objects + b"trailer\n<< /Size 5 /Root 1 0 R >>\n"


def xlsx(corner: str) -> bytes:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page["A1"] = page[corner] = "x"
    saved = io.BytesIO()
    book.save(saved)
    return saved.getvalue()


def parquet() -> bytes:
    cells = pa.array([0] * 3_000_000, type=pa.int8())
    column = pa.DictionaryArray.from_arrays(cells, pa.array(["x" * 1_000]))
    file = io.BytesIO()
    pq.write_table(pa.table({"text": column}), file, compression="zstd")
    return file.getvalue()


def most_memory() -> int:
    """Return the kilobytes that this process has ever had; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    text = status.read_text() if status.exists() else "VmHWM: 0"
    return int(text.partition("VmHWM:")[2].split()[0])


PARAGRAPH = "<w:p><w:r><w:t>a</w:t></w:r></w:p>"
CELLS = ("<w:tbl><w:tr><w:tc>" * 5_000, "</w:tc></w:tr></w:tbl>" * 5_000)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        pytest.param("a.docx", lambda: docx(PARAGRAPH * 200_000), id="paragraphs"),
        pytest.param("a.xlsx", lambda: xlsx("XFD1048576"), id="an empty sheet"),
        pytest.param("a.pdf", lambda: pdf(b" " * 300_000_000), id="blanks of a page"),
        pytest.param("a.parquet", parquet, id="one text many times"),
        pytest.param("a.csv", lambda: b"a,b\n" * 600_000, id="short rows"),
    ],
)
def test_a_file_that_takes_too_much_memory_is_refused_and_the_caller_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, made: Callable[[], bytes]
) -> None:
    monkeypatch.setattr(bounded, "MEMORY", 32 * 1024**2)
    path = tmp_path / name
    path.write_bytes(made())
    taken = most_memory()

    with pytest.raises(LoadingError) as refused:
        read_any(path)

    assert "takes more than 32 MB of memory to read" == refused.value.problem
    assert "keep only the sheet or the pages that are needed" in refused.value.hint
    assert most_memory() - taken < 128 * 1024


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("a.docx", docx(f"{CELLS[0]}<w:p/>{CELLS[1]}"), id="tables in cells"),
        pytest.param("a.html", b"<div>" * 20_000 + b"x" + b"</div>" * 20_000, id="elements"),
    ],
)
def test_a_file_that_is_nested_without_end_is_refused(
    tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)

    with pytest.raises(LoadingError, match="is nested too deeply"):
        read_any(tmp_path / name)


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx"])
def test_a_packed_file_that_says_that_it_is_large_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(bounded, "LARGEST", 1024**2)
    (tmp_path / name).write_bytes(docx("x" * 3 * 1024**2))

    with pytest.raises(LoadingError, match="unpacks to 3 MB, and 1 MB are allowed"):
        read_any(tmp_path / name)


def test_a_file_that_is_large_as_it_is_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "LARGEST", 1024**2)
    (tmp_path / "a.md").write_bytes(b"x" * (1024**2 + 1))

    with pytest.raises(LoadingError, match="is larger than 1 MB"):
        read_any(tmp_path / "a.md")


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such files")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")

    with pytest.raises(LoadingError, match="is no regular file"):
        read_any(tmp_path / "a.csv")


def test_a_file_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "SECONDS", 0.0)
    (tmp_path / "a.docx").write_bytes(docx(PARAGRAPH * 10_000))

    with pytest.raises(LoadingError, match="was not read to its end after 0 seconds"):
        read_any(tmp_path / "a.docx")


class EndsTheProcess:
    def __reduce__(self) -> str:
        os._exit(0)


def test_a_reader_that_is_ended_in_the_middle_of_what_it_says_has_read_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("x")
    read = bounded.bounded(lambda _: ["x" * 1_000_000, EndsTheProcess()])

    with pytest.raises(LoadingError, match="takes more than 2 GB of memory to read"):
        read(tmp_path / "a.txt")


def test_what_is_wrong_with_a_row_is_told_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,4,5\n")

    with pytest.raises(RowError) as refused:
        read_any(path)

    assert (path, 3, "3 cells, and most rows have 2") == (
        refused.value.path,
        refused.value.row,
        refused.value.problem,
    )


def read_any(path: Path) -> object:
    is_table = path.suffix in {".xlsx", ".csv", ".parquet"}
    return read_grid(path, None) if is_table else read_procedure(path)
