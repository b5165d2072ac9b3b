"""Where a domain is made, what it is made of, and what is to do next.

A place has a name that the domain may have, and a folder that appears whole or not at all. What it
is made of is found out by what lies there.
"""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
import unicodedata
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Final

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._audit.report import audit_lines
from pytest_sopbench._core.values.text import first_of
from pytest_sopbench._loading.metadata import DATA_FILE, NAME_RULE, is_domain_name, is_published
from pytest_sopbench._making.documents import DOCUMENTS
from pytest_sopbench._making.sheet import TABLES
from pytest_sopbench.errors import LoadingError, SopbenchError

_WORDS: Final = frozenset({"all", "bundled"})
"""What `--sop-domain` takes for more than one domain."""

_DEVICES: Final = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]", re.IGNORECASE)
"""Names that are no files on Windows, and that nobody there could check out."""

_LONGEST: Final = 80
_NEITHER: Final = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a domain is made.

    `folder` is as a user types it from the current folder. `domain` is what `--sop-domain` takes,
    and `agent` what `--agent` takes for the agent that is written beside it.
    """

    name: str
    folder: Path
    domain: str

    @property
    def agent(self) -> str:
        return f"{'.'.join((*self.folder.parts, 'agent'))}:agent"

    @property
    def test_file(self) -> str:
        """The name of the file with tests; unlike those of other domains, as pytest needs."""
        return f"test_{self.name.replace('-', '_')}.py"


def check_name(name: str) -> None:
    """Refuse a name that no folder, module or domain should have.

    Raises:
        SopbenchError: the name cannot be used; the hint has one that can.
    """
    problem = _problem(name)
    if problem:
        plain = suggested_name(name)
        hint = f"{plain!r} can be one" if plain and not _problem(plain) else NAME_RULE
        msg = f"{name!r} cannot be the name of a domain that is made: {problem}"
        raise SopbenchError(msg, hint=hint)


def suggested_name(text: str) -> str:
    """Return a name that is like a text; empty if nothing of it is left."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    plain = plain.encode("ascii", "ignore").decode()
    return _NEITHER.sub("_", plain).strip("_-").lower()[:_LONGEST]


def choose_place(
    name: str, *, folder: Path, known: Collection[str], has_name: bool, has_agent: bool = True
) -> Place:
    """Return the place of a new domain in a folder; nothing is written.

    Args:
        name: of the domain.
        folder: in which the folder of the domain is made, from the current folder.
        known: the names of the domains that are found here.
        has_name: whether domains in this folder are found by their name.
        has_agent: whether an agent is written beside the domain, to be imported from there.

    Raises:
        SopbenchError: the name or the folder cannot be used, or something is there already.
    """
    check_name(name)
    target = folder / name
    if has_agent:
        _check_import(folder, target)
    _check_free(target)
    if has_name and name in known:
        msg = f"{name!r} is the name of a domain that comes with the package or is found here"
        raise SopbenchError(msg, hint="take another; `sopbench list` shows those that are taken")
    path = target.as_posix()
    domain = name if has_name else path if target.is_absolute() else f"./{path}"
    return Place(name=name, folder=target, domain=domain)


def _problem(name: str) -> str:
    if not is_domain_name(name):
        return "it has other signs than the letters a to z, digits, '_' and '-'"
    if "." in name:
        return "the agent beside it is imported, and no module has a dot in its name"
    if name.lower() in _WORDS:
        return f"--sop-domain {name.lower()} means several domains"
    if _DEVICES.fullmatch(name):
        return "Windows keeps it for a device"
    if len(name) > _LONGEST:
        return f"it is longer than {_LONGEST} letters"
    return ""


def _check_import(folder: Path, target: Path) -> None:
    if target.is_absolute() or ".." in target.parts:
        msg = f"{folder}: does not lie under the current folder, from which the agent is imported"
        raise SopbenchError(msg, hint="go to the project's folder first, or give --to FOLDER")
    if any("." in part for part in folder.parts):
        msg = f"{folder}: the agent is imported from there, and no module has a dot in its name"
        raise SopbenchError(msg, hint="give --to a folder without a dot")


def _check_free(target: Path) -> None:
    for place in (target, *target.parents):
        if place.exists() and not place.is_dir():
            raise LoadingError(place, "is a file, and would have to be a folder")
    if target.exists() or target.is_symlink():
        raise LoadingError(
            target,
            "is there already, and nothing is overwritten",
            hint="take another name, or remove the folder first",
        )


# A new folder appears whole or not at all.


@contextmanager
def new_folder(target: Path) -> Generator[Path]:
    """Yield an empty folder, which becomes the target when the block ends.

    If the block fails, nothing is left.

    Raises:
        LoadingError: the disk did not take it, or the target is there and not empty.
    """
    made = [one for one in target.parents if not one.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as fault:
        raise _refused(target, fault) from fault
    try:
        # A folder of this kind is for its maker alone, and a domain is one to share.
        aside.chmod(0o755)
        yield aside
        aside.rename(target)
    except BaseException as fault:
        shutil.rmtree(aside, ignore_errors=True)
        with suppress(OSError):
            for one in made:
                one.rmdir()
        if isinstance(fault, OSError):
            raise _refused(target, fault) from fault
        raise


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts as UTF-8, with the line ends that they have."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


def _refused(target: Path, fault: OSError) -> LoadingError:
    return LoadingError(target, f"cannot be written: {fault.strerror or fault}")


# The small example: a whole domain to look at, to run, and to replace.

_FILES: Final = (
    "sop.md",
    "toolspecs.json",
    "data.csv",
    "metadata.json",
    "policy.py",
    "expected_calls.jsonl",
    "agent.py",
)


def example_files(place: Place) -> Mapping[str, str]:
    """Return the files of the example by their names, for a domain in this place."""
    texts = {name: template(name, place) for name in _FILES}
    return {**texts, place.test_file: template("test_domain.py", place)}


def template(name: str, place: Place) -> str:
    """Return a file of the example, with what the place has to say in it."""
    text = files("pytest_sopbench._making").joinpath("template", f"{name}.txt").read_text("utf-8")
    for mark, value in (
        ("@NAME@", place.name),
        ("@DOMAIN@", place.domain),
        ("@AGENT@", place.agent),
    ):
        text = text.replace(mark, value)
    return text


# What to do with a domain that has been made: three commands, and what is still open.


def example_commands(place: Place) -> tuple[str, ...]:
    """Return the commands for a domain that has a reference policy."""
    domain = shlex.quote(place.domain)
    return (
        f"pytest --sop-domain={domain} --agent=reference-policy",
        f"pytest --sop-domain={domain} --agent={place.agent} --sop-fail-under=0.9",
        f"pytest {place.folder / place.test_file}",
    )


def table_commands(place: Place) -> tuple[str, ...]:
    """Return the commands for a domain that has rows, and an agent that knows nothing yet."""
    domain = shlex.quote(place.domain)
    return (
        f"sopbench list {domain} -v",
        f"pytest --sop-domain={domain} --agent={place.agent} --sop-sample=20",
        f"pytest --sop-domain={domain} --agent={place.agent} --sop-fail-under=0.9",
    )


def imported_commands(place: Place, *, agent: str = "", sample: int = 0) -> tuple[str, ...]:
    """Return the commands for a domain without an agent beside it, but perhaps with responses."""
    domain = shlex.quote(place.domain)
    run = f"pytest --sop-domain={domain} --agent={shlex.quote(agent or 'PACKAGE.MODULE:AGENT')}"
    return (
        f"sopbench list {domain} -v",
        f"{run} --sop-sample={sample}" if sample else run,
    )


def to_do_lines(folder: Path, *, run_code: bool = True) -> Iterator[str]:
    """Yield what is still open in a domain's folder: what its audit finds.

    Code that is known to hang, or to end its process, need not be run once more.

    This is the one place that knows what checks a new domain.
    """
    yield from audit_lines(audit(folder, run_code=run_code))


# What `sopbench new --from` was given: found out by what lies there, never asked.


class Kind(StrEnum):
    """What a domain can be made of, as messages call it."""

    TABLE = "a table"
    PUBLISHED = "a published folder"
    SCENARIOS = "a scenario file"


_SCENARIOS: Final = (".json", ".jsonl")
_OLDER: Final = {
    ".xls": "save it as .xlsx",
    ".xlsb": "save it as .xlsx",
    ".ods": "save it as .xlsx",
    ".numbers": "export it as .xlsx",
}
_TAKEN: Final = (
    "--from takes a table (.xlsx, .csv, .tsv, .parquet), a folder as SOP-Bench publishes it (with"
    f" {DATA_FILE}) or a file as SOP-Maze publishes it (.json); --sop takes a document"
)
_MOST: Final = 8


def recognise(path: Path) -> Kind:
    """Tell what a domain is to be made of.

    Raises:
        LoadingError: there is nothing, or nothing of these kinds.
    """
    suffix = path.suffix.lower()
    if path.is_dir():
        return _recognise_folder(path)
    if not path.exists():
        raise LoadingError(path, "no such file or folder", hint=_beside(path))
    if suffix in TABLES:
        return Kind.TABLE
    if suffix in _SCENARIOS:
        return Kind.SCENARIOS
    if suffix in DOCUMENTS:
        hint = "give it with --sop, and with --from a table of old cases"
        if suffix == ".txt":
            hint = f"{hint}; call it .csv if it is the table"
        raise LoadingError(path, f"is a document ({suffix}), and holds no cases", hint=hint)
    problem = f"{suffix or 'no ending'!r} is nothing that a domain is made of"
    raise LoadingError(path, problem, hint=_OLDER.get(suffix, _TAKEN))


def _recognise_folder(path: Path) -> Kind:
    if is_published(path):
        return Kind.PUBLISHED
    if (path / "metadata.json").is_file() or (path / "domain.toml").is_file():
        hint = f"a domain of this layout is used as it is: --sop-domain {path}"
        raise LoadingError(path, f"is no published folder: it has no {DATA_FILE}", hint=hint)
    held = _names(path, None)
    holds = f"it holds {held}, and no {DATA_FILE}" if held else "it is empty"
    raise LoadingError(path, f"is no published folder: {holds}", hint=_TAKEN)


def _beside(path: Path) -> str:
    """Name the tables in the folder in which something was looked for."""
    found = _names(path.parent, TABLES)
    return f"there is {found}" if found else ""


def _names(folder: Path, endings: tuple[str, ...] | None) -> str:
    try:
        found = sorted(
            one.name for one in folder.iterdir() if endings is None or one.suffix.lower() in endings
        )
    except OSError:
        return ""
    return first_of(found, _MOST)
