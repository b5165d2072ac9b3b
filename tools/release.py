"""Make a release: everything but the upload, which `.github/workflows/release.yml` does.

    make release RELEASE="--prepare 1.0.0"     write the version into the pages that name it
    make release                               build and try what the tag of HEAD names

A person looks at what `--prepare` wrote, commits it, and tags the commit. The second command
refuses what is not ready. Then it builds, installs what it has built on every Python that is
claimed and found, and leaves the notes and the bill of materials in `dist`, and sdist and wheel in
`dist/packages`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from index_page import absolute
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]
NAME = "pytest-sopbench"
PACKAGE = "src/pytest_sopbench"
DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
WORKERS = ("--numprocesses=4", "--dist=worksteal")  # as in the Makefile
SESSION = ("--sop-domain=dangerous_goods", "--agent=reference-policy", "--sop-sample=20")

EDITS = (
    ("CHANGELOG.md", r"^## Unreleased$", "## {version} ({day})"),
    (
        "docs/tutorial.md",
        r"(?:, here for a clone that lies beside the folder)?:\n\n```text\n\S*pytest-sopbench\[.*$",
        f":\n\n```text\n{NAME}[xdist]=={{version}}",
    ),
    (
        "docs/reference/install.md",
        r"There is no release yet[^.\n]*\.|The newest release is [\w.]+\w\.",
        "The newest release is {version}.",
    ),
    (
        "docs/reference/install.md",
        r"(?<=\| you have \| the line \|\n\|---\|---\|\n)(?:\| a release \|.*\n)?",
        f"| a release | `{NAME}[xdist]=={{version}}` |\n",
    ),
)
"""What a release changes in the pages: file, text that stands there, text that takes its place."""

ONCE = (
    ("docs/explanation/known-limitations.md", r"^- \*\*A release\.\*\*.*\n", ""),
    (
        "README.md",
        r'^\$ pip install "\.\[xdist\]" +# in a clone; other',
        f'$ pip install "{NAME}[xdist]"        # other',
    ),
    (
        "docs/index.md",
        r'^\$ pip install "\.\[xdist\]" +# in a clone of the repository$',
        f'$ pip install "{NAME}[xdist]"',
    ),
)
"""What the first release changes, and no later one."""

URLS = """pyproject.toml does not say where the project is. Add, with its own address:

[project.urls]
Source = "https://github.com/OWNER/pytest-sopbench"
Issues = "https://github.com/OWNER/pytest-sopbench/issues"
Changelog = "https://github.com/OWNER/pytest-sopbench/blob/HEAD/CHANGELOG.md"

The links of README.md lead below Source when an index shows it."""


class NotReadyError(Exception):
    """Says why there is nothing to release, and what to do."""


def prepare(root: Path, version: str, day: str) -> None:
    """Write the version into the changelog and into the page that says how to install."""
    released(version)
    addressed(root)
    names = {name for name, *_ in (*EDITS, *ONCE)}
    pages = {name: (root / name).read_text("utf-8") for name in names}
    for name, pattern, text in EDITS:
        new = text.format(version=version, day=day)
        pages[name], found = re.subn(pattern, new, pages[name], count=1, flags=re.MULTILINE)
        if not found:
            msg = f"{name} has no place for the version: no text fits {pattern!r}"
            raise NotReadyError(msg)
    for name, pattern, text in ONCE:
        pages[name] = re.sub(pattern, text, pages[name], flags=re.MULTILINE)
    for name, text in pages.items():
        (root / name).write_text(text, "utf-8")


def released(tag: str) -> str:
    """Return the version that a tag names, with or without `v` before it."""
    text = tag.removeprefix("v")
    try:
        version = Version(text)
    except InvalidVersion:
        version = None
    is_plain = version is not None and str(version) == text and len(version.release) == 3  # noqa: PLR2004 - MAJOR.MINOR.PATCH
    if version is None or not is_plain or version.local or version.is_devrelease:
        msg = f"{tag!r} is no version of a release, such as v1.0.0 or v1.1.0rc1"
        raise NotReadyError(msg)
    return text


def addressed(root: Path) -> None:
    """Refuse a project of which nobody who finds it on an index could tell where it lives."""
    urls = project(root).get("urls", {})
    source = urls.get("Source", "")
    if not re.fullmatch(r"https://[^/\s]+/\S*[^/\s]", source) or any(
        "OWNER" in url for url in urls.values()
    ):
        raise NotReadyError(URLS)


def project(root: Path) -> dict[str, Any]:
    """Return the table of the project."""
    with (root / "pyproject.toml").open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)["project"]
    return table


def ready(root: Path) -> str:
    """Return the version to release, or say what is not ready."""
    if changed := git(root, "status", "--porcelain"):
        msg = f"the tree is dirty: commit or remove\n{changed}"
        raise NotReadyError(msg)
    tags = git(root, "tag", "--points-at", "HEAD").split()
    if len(tags) != 1:
        found = f"the tags {', '.join(tags)}" if tags else "no tag"
        msg = f"HEAD has {found}; the version is that of its one tag: git tag v1.0.0"
        raise NotReadyError(msg)
    version = released(tags[0])

    addressed(root)
    name, _, line = EDITS[-1]
    if line.format(version=version) not in (root / name).read_text("utf-8"):
        command = f"make release RELEASE='--prepare {version}'"
        msg = f"{name} does not say how to install {version}: {command}"
        raise NotReadyError(msg)
    return version


def changes(root: Path, version: str) -> str:
    """Return what the changelog says of a version."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    _, *parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    if sections.get("Unreleased"):
        msg = (
            f"CHANGELOG.md has changes that are unreleased, and {version} would have them: "
            f"make release RELEASE='--prepare {version}'"
        )
        raise NotReadyError(msg)
    wanted = re.compile(rf"{re.escape(version)} \({DAY}\)")
    body = next((body for heading, body in sections.items() if wanted.fullmatch(heading)), None)
    if not body:
        fault = "no section" if body is None else "an empty section"
        msg = f"CHANGELOG.md has {fault} '## {version} (YYYY-MM-DD)'"
        raise NotReadyError(msg)
    return body


def notes_of(root: Path, version: str) -> str:
    """Return the changes as a page elsewhere shows them, with links that lead to the repository."""
    return absolute(changes(root, version), project(root)["urls"]["Source"], version)


def build(root: Path, version: str, out: Path) -> None:
    """Build sdist and wheel, and hold them against the repository."""
    # The wheel is made of the sdist, so what the sdist lacks the wheel lacks as well.
    run(sys.executable, "-m", "build", "--outdir", out, root)
    stem = f"{NAME.replace('-', '_')}-{version}"
    built = sorted(path.name for path in out.iterdir())
    if built != [f"{stem}-py3-none-any.whl", f"{stem}.tar.gz"]:
        msg = f"not the files of {version} were built: {', '.join(built)}"
        raise NotReadyError(msg)
    sdist, wheel = out / f"{stem}.tar.gz", out / f"{stem}-py3-none-any.whl"
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    complete(root, sdist, wheel)


def complete(root: Path, sdist: Path, wheel: Path) -> None:
    """Refuse a wheel or an sdist that has other files than the repository."""
    committed = set(git(root, "ls-files").splitlines())
    with tarfile.open(sdist) as archive:
        there = {one.name.partition("/")[2] for one in archive if one.isfile()}
    same("sdist", there - {"PKG-INFO"}, committed)

    with zipfile.ZipFile(wheel) as package:
        there = {f"src/{name}" for name in package.namelist() if ".dist-info/" not in name}
    same("wheel", there, {name for name in committed if name.startswith(f"{PACKAGE}/")})


def same(kind: str, there: set[str], committed: set[str]) -> None:
    """Refuse what has other files than were committed."""
    wrong = [f"lacks {name}" for name in sorted(committed - there)]
    wrong += [f"has {name}, which is not committed" for name in sorted(there - committed)]
    if wrong:
        msg = f"the {kind} {'; '.join(wrong[:5])}{'; ...' if wrong[5:] else ''}"
        raise NotReadyError(msg)


def claimed(root: Path) -> list[str]:
    """Return the versions of Python that the classifiers name."""
    classifiers = project(root)["classifiers"]
    return [python for one in classifiers for python in re.findall(r":: (3\.\d+)$", one)]


def tried(root: Path, version: str, out: Path, scratch: Path, suite: Sequence[str]) -> list[str]:
    """Install the release on each Python, use it, and say how it went."""
    told = list[str]()
    for python in claimed(root):
        found = subprocess.run(  # noqa: S603 - a script of ours
            [root / ".ci" / "python", python], capture_output=True, text=True, check=False
        )
        if found.returncode:
            told.append(f"Python {python}: not found here, so not tried")
            continue
        bare = installed(found.stdout.strip(), scratch / f"{python}-bare", out, f"=={version}")
        room = scratch / f"{python}-room"
        room.mkdir()
        run(bare / "sopbench", "--version", folder=room)
        run(bare / "pytest", *SESSION, folder=room)

        whole = installed(found.stdout.strip(), scratch / f"{python}-all", out, f"[all]=={version}")
        demo = scratch / f"{python}-demo"
        shutil.copytree(root / "demo", demo, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        run("sh", "run.sh", folder=demo, path=whole)
        told.append(f"Python {python}: a session without extras, and the demo with all of them")
        if suite:
            whole_suite(root, whole, scratch / f"{python}-suite", suite)
            told[-1] += f", {' '.join(suite)} against the wheel"
    return told


def installed(python: str, place: Path, out: Path, wanted: str) -> Path:
    """Install the release afresh, and return where its programs are."""
    run(python, "-m", "venv", place)
    programs = place / "bin"
    pip(programs, "--find-links", out, f"{NAME}{wanted}")
    run(programs / "python", "-m", "pip", "check")
    return programs


def whole_suite(root: Path, programs: Path, place: Path, suite: Sequence[str]) -> None:
    """Run tests of the release in a fresh copy, in which they meet the wheel."""
    run("git", "clone", "--quiet", root, place)
    pip(programs, "--group", f"{root / 'pyproject.toml'}:test")
    is_wheel = "import pytest_sopbench as p; assert 'site-packages' in p.__file__, p.__file__"
    run(programs / "python", "-c", is_wheel, folder=place)
    run(programs / "python", "-m", "pytest", "-q", *WORKERS, *suite, folder=place, path=programs)


def bill_of_materials(root: Path, version: str, out: Path, scratch: Path) -> None:
    """Write what an installation with all extras brings, as CycloneDX."""
    programs = installed(sys.executable, scratch / "materials", out, f"[all]=={version}")
    run(programs / "python", "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
    path = out.parent / f"{NAME}-{version}.cdx.json"
    run(
        Path(sys.executable).with_name("cyclonedx-py"),
        *("environment", "--pyproject", root / "pyproject.toml", "--mc-type", "library"),
        *("--output-reproducible", "--validate"),
        *("--output-file", path, programs / "python"),
    )
    # In pyproject.toml the version is left to the tag.
    bill = json.loads(path.read_text("utf-8"))
    bill["metadata"]["component"]["version"] = version
    path.write_text(f"{json.dumps(bill, indent=1)}\n", "utf-8")


def git(root: Path, *words: str) -> str:
    """Return what git says."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)  # noqa: S603, S607 - the words are ours
    return done.stdout.strip("\n")


def pip(programs: Path, *words: str | Path) -> None:
    """Install into an environment."""
    run(programs / "python", "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    run(programs / "python", "-m", "pip", "install", "--quiet", *words)


def run(*words: str | Path, folder: Path | None = None, path: Path | None = None) -> None:
    """Run a program, whose failure ends the release."""
    sys.stdout.write(f"$ {' '.join(map(str, words))}\n")
    sys.stdout.flush()
    search = f"{path}{os.pathsep}{os.environ['PATH']}" if path else os.environ["PATH"]
    done = subprocess.run(words, cwd=folder, env={**os.environ, "PATH": search}, check=False)  # noqa: S603 - the words are ours
    if done.returncode:
        msg = f"{words[0]} ended with {done.returncode}"
        raise NotReadyError(msg)


def main(words: Sequence[str]) -> None:
    """Prepare a release, or make it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--prepare", metavar="VERSION", help="write the version into the pages")
    parser.add_argument("--suite", nargs="+", default=(), metavar="PATH", help="tests to run too")
    asked = parser.parse_args(words)
    out = ROOT / "dist" / "packages"
    try:
        if asked.prepare:
            prepare(ROOT, asked.prepare, datetime.now(UTC).date().isoformat())
            return
        version = ready(ROOT)
        notes = notes_of(ROOT, version)
        shutil.rmtree(out.parent, ignore_errors=True)
        build(ROOT, version, out)
        (out.parent / "notes.md").write_text(f"{notes}\n", "utf-8")
        with tempfile.TemporaryDirectory() as scratch:
            told = tried(ROOT, version, out, Path(scratch), asked.suite)
            bill_of_materials(ROOT, version, out, Path(scratch))
    except NotReadyError as error:
        sys.exit(f"release: {error}")
    names = ", ".join(sorted(path.name for path in out.parent.rglob("*") if path.is_file()))
    sys.stdout.write("\n".join([f"\nrelease {version} is in dist: {names}", *told, ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
