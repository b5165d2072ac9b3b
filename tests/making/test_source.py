"""What `sopbench new --from` recognises, and what it says of anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench._making.place import Kind, recognise
from pytest_sopbench.cli import main
from pytest_sopbench.errors import LoadingError


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((f"cases{ending}", Kind.TABLE) for ending in (".xlsx", ".CSV", ".tsv", ".parquet")),
        ("maze.json", Kind.SCENARIOS),
        ("parcels/test_set_with_outputs.csv", Kind.PUBLISHED),
    ],
)
def test_what_it_is_made_of_is_recognised(tmp_path: Path, name: str, kind: Kind) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.touch()

    assert kind is recognise(path.parent if kind is Kind.PUBLISHED else path)


@pytest.mark.parametrize(
    ("name", "problem", "advice"),
    [
        ("procedure.docx", "is a document", "give it with --sop"),
        ("procedure.txt", "is a document", "call it .csv if it is the table"),
        ("cases.xls", "'.xls' is nothing", "save it as .xlsx"),
        ("cases", "'no ending' is nothing", "--from takes a table"),
        ("picture.png", "'.png' is nothing", "a file as SOP-Maze publishes it"),
    ],
)
def test_another_file_is_told_with_what_could_be_given(
    tmp_path: Path, name: str, problem: str, advice: str
) -> None:
    (tmp_path / name).touch()

    with pytest.raises(LoadingError, match=rf"{name}: .*{problem}.*\n.*{advice}"):
        recognise(tmp_path / name)


@pytest.mark.parametrize(
    ("held", "problem"),
    [
        ((), "is no published folder: it is empty\n--from takes a table"),
        (("a.csv", "b"), "it holds a.csv, b, and no test_set_with_outputs.csv\n--from takes"),
        (("metadata.json",), "used as it is: --sop-domain"),
    ],
    ids=["empty", "files", "our layout"],
)
def test_another_folder_is_told_with_what_it_holds(
    tmp_path: Path, held: tuple[str, ...], problem: str
) -> None:
    for name in held:
        (tmp_path / name).touch()

    with pytest.raises(LoadingError, match=problem):
        recognise(tmp_path)


def test_what_is_not_there_names_the_tables_that_are(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").touch()

    with pytest.raises(LoadingError, match=r"no such file or folder\nthere is cases\.csv"):
        recognise(tmp_path / "case.csv")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--from=lab", "--header=2"), "--header is about a table; lab is a published folder"),
        (
            ("--from=maze.json", "--time-limit=9"),
            "--time-limit is about a published folder; maze.json is a scenario file",
        ),
        (("--from=cases.csv", "--class=x"), "--class is about a scenario file; cases.csv is a"),
        (("--class=x",), "--class is about a scenario file; give --from as well"),
    ],
    ids=["table", "published", "scenarios", "nothing"],
)
def test_an_option_of_another_kind_is_refused_with_the_kind_that_it_belongs_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("lab/test_set_with_outputs.csv", "maze.json", "cases.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()

    result = CliRunner().invoke(main, ["new", "refunds", *arguments])

    assert 2 == result.exit_code
    assert told in result.output
    assert not Path("domains").exists()
