"""The command that makes a release refuses what is not ready, and says what to do."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import release
from release import NotReadyError

Change = Callable[[Path], object]
PAGES = (
    "docs/reference/install.md",
    "docs/explanation/known-limitations.md",
    "docs/index.md",
    "docs/tutorial.md",
    "README.md",
)
PROJECT = '[project]\n[project.urls]\nSource = "https://git.example.com/team/pytest-sopbench"\n'
CHANGELOG = "# Changelog\n\n## Unreleased\n\n- It runs.\n\n## 0.9.0 (2026-01-02)\n\n- It began.\n"


def git(root: Path, *words: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *words], cwd=root, check=True, capture_output=True)  # noqa: S607


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message=A change")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository in small, with the project's own pages, that nobody has prepared."""
    git(tmp_path, "init", "--quiet")
    for name in PAGES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release.ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / release.PACKAGE).mkdir(parents=True)
    (tmp_path / release.PACKAGE / "plugin.py").write_text("")
    commit(tmp_path)
    return tmp_path


@pytest.fixture
def tagged(root: Path) -> Path:
    """The same one commit later, prepared and tagged."""
    release.prepare(root, "1.0.0", "2026-12-01")
    commit(root)
    git(root, "tag", "v1.0.0")
    return root


def again(root: Path, version: str) -> None:
    """Commit what was changed, under this tag alone."""
    commit(root)
    git(root, "tag", version)


# ----------------------------------------------------------------------- ready


def test_what_is_prepared_and_tagged_is_ready(tagged: Path) -> None:
    assert "1.0.0" == release.ready(tagged)
    assert "- It runs." == release.changes(tagged, "1.0.0")


def write(name: str, text: str) -> Change:
    return lambda root: (root / name).write_text(text)


NOT_READY = [
    pytest.param(write("new.txt", ""), r"the tree is dirty.*\n\?\? new\.txt", id="a new file"),
    pytest.param(
        write("src/pytest_sopbench/plugin.py", "1"),
        r"the tree is dirty.*\n M src/pytest_sopbench/plugin\.py",
        id="a changed file",
    ),
    pytest.param(commit, r"HEAD has no tag; .*git tag v1\.0\.0", id="a commit after the tag"),
    pytest.param(
        lambda root: git(root, "tag", "v1.0.1"), r"HEAD has the tags v1\.0\.0, v1\.0\.1", id="two"
    ),
    pytest.param(
        lambda root: again(root, "v1.1.0"),
        r"install\.md does not say how to install 1\.1\.0: make .*'--prepare 1\.1\.0'",
        id="a version that the pages do not name",
    ),
    pytest.param(
        lambda root: (
            write("pyproject.toml", "[project]\n")(root),
            git(root, "tag", "--delete", "v1.0.0"),
            again(root, "v1.0.0"),
        ),
        r"does not say where the project is\. Add, .*\n\n\[project\.urls\]\nSource = ",
        id="no address",
    ),
    pytest.param(
        lambda root: again(root, "nightly"), "'nightly' is no version", id="a tag of another kind"
    ),
]


@pytest.mark.parametrize(("change", "why"), NOT_READY)
def test_what_is_not_ready_is_refused(tagged: Path, change: Change, why: str) -> None:
    change(tagged)

    with pytest.raises(NotReadyError, match=why):
        release.ready(tagged)


@pytest.mark.parametrize(
    "urls",
    [
        "",
        'Issues = "https://git.example.com/team/pytest-sopbench/issues"',
        'Source = "git@git.example.com:team/pytest-sopbench.git"',
        'Source = "https://git.example.com/team/pytest-sopbench/"',
        release.URLS.partition("[project.urls]\n")[2].partition("\n\n")[0],
    ],
    ids=["none", "no source", "no page", "a slash at its end", "as the message has it"],
)
def test_a_project_that_does_not_say_where_it_is_can_not_be_prepared(root: Path, urls: str) -> None:
    """An index would show it without a way to its source, and with links that lead nowhere."""
    (root / "pyproject.toml").write_text(f"[project]\n[project.urls]\n{urls}\n")

    with pytest.raises(NotReadyError, match=r"\[project\.urls\]"):
        release.prepare(root, "1.0.0", "2026-12-01")


@pytest.mark.parametrize("tag", ["v1.0.0", "1.0.0", "v1.10.0", "v1.1.0rc1"])
def test_a_tag_that_is_a_version_is_taken(tag: str) -> None:
    assert tag.removeprefix("v") == release.released(tag)


@pytest.mark.parametrize(
    "tag",
    ["v1", "v1.0", "v1.0.0.0", "v1.0.0-1", "v01.0.0", "vv1.0.0", "v1.0.0.dev1", "1.0.0+me", ""],
)
def test_a_tag_that_is_no_version_is_refused(tag: str) -> None:
    with pytest.raises(NotReadyError, match=r"is no version of a release, such as v1\.0\.0"):
        release.released(tag)


# ------------------------------------------------------------------- changelog


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("# Changelog\n", r"no section '## 1\.0\.0 \(YYYY-MM-DD\)'", id="none"),
        pytest.param("## 1.0.01 (2026-12-01)\n\n- It runs.\n", "no section", id="of another"),
        pytest.param("## 1.0.0\n\n- It runs.\n", "no section", id="without its day"),
        pytest.param(
            "## 1.0.0 (2026-12-01)\n\n## 0.9.0 (2026-01-02)\n\n- It began.\n",
            "an empty section",
            id="empty",
        ),
        pytest.param(
            "## Unreleased\n\n- More.\n\n## 1.0.0 (2026-12-01)\n\n- It runs.\n",
            r"unreleased, and 1\.0\.0 would have them: make release RELEASE='--prepare 1\.0\.0'",
            id="with changes after it",
        ),
    ],
)
def test_a_changelog_that_does_not_tell_of_the_version_is_refused(
    root: Path, text: str, why: str
) -> None:
    (root / "CHANGELOG.md").write_text(text)

    with pytest.raises(NotReadyError, match=why):
        release.changes(root, "1.0.0")


def test_the_notes_are_the_section_and_no_other(tagged: Path) -> None:
    assert "- It began." == release.changes(tagged, "0.9.0")


def test_links_of_the_notes_lead_to_the_repository(tagged: Path) -> None:
    """A page of releases has no files beside it."""
    path = tagged / "CHANGELOG.md"
    path.write_text(path.read_text().replace("It runs.", "It [runs](docs/index.md)."))

    notes = release.notes_of(tagged, "1.0.0")

    source = "https://git.example.com/team/pytest-sopbench"
    assert f"- It [runs]({source}/blob/v1.0.0/docs/index.md)." == notes


# --------------------------------------------------------------------- prepare


def test_preparing_names_the_version_in_the_changelog_and_in_the_page(root: Path) -> None:
    release.prepare(root, "1.0.0", "2026-12-01")

    page = (root / "docs/reference/install.md").read_text()
    assert "\n## 1.0.0 (2026-12-01)\n\n- It runs.\n" in (root / "CHANGELOG.md").read_text()
    assert "The newest release is 1.0.0." in page
    assert "\n|---|---|\n| a release | `pytest-sopbench[xdist]==1.0.0` |\n| a clone" in page
    assert "no release yet" not in page
    assert "**A release.**" not in (root / PAGES[1]).read_text()


def test_preparing_gives_readers_of_every_page_the_release_in_place_of_a_clone(root: Path) -> None:
    release.prepare(root, "1.0.0", "2026-12-01")

    tutorial = (root / "docs/tutorial.md").read_text()
    assert "has one line:\n\n```text\npytest-sopbench[xdist]==1.0.0\n```\n" in tutorial
    for name in ("README.md", "docs/index.md"):
        assert '\n$ pip install "pytest-sopbench[xdist]"' in (root / name).read_text()
        assert "in a clone" not in (root / name).read_text().partition("## Try it")[0]


def test_the_next_release_changes_the_same_places(tagged: Path) -> None:
    path = tagged / "CHANGELOG.md"
    path.write_text(path.read_text().replace("## 1.0.0", "## Unreleased\n\n- More.\n\n## 1.0.0", 1))

    release.prepare(tagged, "1.1.0rc1", "2027-01-01")

    page = (tagged / "docs/reference/install.md").read_text()
    assert "\npytest-sopbench[xdist]==1.1.0rc1\n" in (tagged / "docs/tutorial.md").read_text()
    assert "The newest release is 1.1.0rc1." in page
    assert 1 == page.count("| a release |")
    assert "1.0.0" not in page
    again(tagged, "v1.1.0rc1")
    assert "1.1.0rc1" == release.ready(tagged)
    assert "- More." == release.changes(tagged, "1.1.0rc1")


@pytest.mark.parametrize(
    ("version", "why"),
    [("next", "'next' is no version"), ("2.0.0", "CHANGELOG.md has no place for the version")],
)
def test_preparing_what_cannot_be_prepared_changes_nothing(
    tagged: Path, version: str, why: str
) -> None:
    with pytest.raises(NotReadyError, match=why):
        release.prepare(tagged, version, "2027-01-01")

    assert "1.0.0" == release.ready(tagged)


# ----------------------------------------------------------------------- build


def archives(folder: Path, packed: list[str], installed: list[str]) -> tuple[Path, Path]:
    """Write an sdist and a wheel with these files."""
    sdist, wheel = folder / "a.tar.gz", folder / "a.whl"
    with tarfile.open(sdist, "w:gz") as archive:
        for name in [*packed, "PKG-INFO"]:
            archive.addfile(tarfile.TarInfo(f"a-1.0.0/{name}"), io.BytesIO())
    with zipfile.ZipFile(wheel, "w") as package:
        for name in [*installed, "a-1.0.0.dist-info/METADATA"]:
            package.writestr(name, "")
    return sdist, wheel


COMMITTED = ["CHANGELOG.md", *PAGES, "pyproject.toml", "src/pytest_sopbench/plugin.py"]
MODULE = "pytest_sopbench/plugin.py"


@pytest.mark.parametrize(
    ("packed", "installed", "why"),
    [
        pytest.param(COMMITTED[1:], [MODULE], r"the sdist lacks CHANGELOG\.md", id="sdist lacks"),
        pytest.param(
            [*COMMITTED, "key.pem"], [MODULE], "the sdist has key.pem, which is not", id="sdist has"
        ),
        pytest.param(COMMITTED, [], f"the wheel lacks src/{MODULE}", id="wheel lacks"),
        pytest.param(
            COMMITTED, [MODULE, "tests/a.py"], "the wheel has src/tests/a.py", id="wheel has"
        ),
    ],
)
def test_archives_with_other_files_than_the_repository_are_refused(
    root: Path,
    tmp_path_factory: pytest.TempPathFactory,
    packed: list[str],
    installed: list[str],
    why: str,
) -> None:
    built = archives(tmp_path_factory.mktemp("built"), packed, installed)

    with pytest.raises(NotReadyError, match=why):
        release.complete(root, *built)


def test_archives_with_the_files_of_the_repository_are_complete(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    built = archives(tmp_path_factory.mktemp("built"), COMMITTED, [MODULE])

    release.complete(root, *built)


def test_a_program_that_fails_ends_the_release() -> None:
    with pytest.raises(NotReadyError, match="sh ended with 3"):
        release.run("sh", "-c", "exit 3")


# --------------------------------------------------------- of the project itself


def test_the_pages_of_the_project_have_a_place_for_the_next_version(tmp_path: Path) -> None:
    """Else the command that prepares a release is found broken on the day of a release."""
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for name in ("CHANGELOG.md", *PAGES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release.ROOT / name, tmp_path / name)
    if "## Unreleased" not in (tmp_path / "CHANGELOG.md").read_text():
        pytest.skip("nothing has changed since the last release")

    release.prepare(tmp_path, "99.0.0", "2099-01-01")

    assert release.changes(tmp_path, "99.0.0").startswith(("First", "-"))
    assert "pytest-sopbench[xdist]==99.0.0\n" in (tmp_path / "docs/tutorial.md").read_text()
    for name in ("README.md", "docs/index.md"):
        assert '\n$ pip install "pytest-sopbench[xdist]"' in (tmp_path / name).read_text()


def test_the_claimed_pythons_are_those_of_the_workflow() -> None:
    workflow = (release.ROOT / ".github/workflows/release.yml").read_text()

    named = [line.strip() for line in workflow.splitlines() if line.strip().startswith("3.")]

    assert ["3.11", "3.12", "3.13"] == release.claimed(release.ROOT) == named
