"""Where a domain is made, and whether it may have the name that was asked for."""

from __future__ import annotations

import importlib
import re
import shlex
import shutil
import tempfile
import unicodedata
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._audit.report import audit_lines
from pytest_sopbench._core.installing import install_hint
from pytest_sopbench._loading.metadata import NAME_RULE, is_domain_name
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
    """Return a name that is like a text; empty where nothing of it is left."""
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

    Where the block fails, nothing is left.

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
        for one in made:
            _remove_empty(one)
        if isinstance(fault, OSError):
            raise _refused(target, fault) from fault
        raise


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts as UTF-8, with the line ends that they have."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return


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


# Libraries that only some need: imported when a file asks for them.


def library(name: str, *, path: Path) -> Any:
    """Import a module that reads this file.

    Raises:
        LoadingError: it is not installed; the hint says what to install.
    """
    try:
        return importlib.import_module(name)
    except ImportError as fault:
        package = name.partition(".")[0]
        raise LoadingError(
            path,
            f"{package} is needed to read it, and cannot be imported: {fault}",
            hint=install_hint(package, extra="import"),
        ) from fault


def read_by(path: Path, name: str, fault: Exception) -> LoadingError:
    """Return the error for a file that a library could not read, whatever it raised.

    Raises:
        MemoryError: there was not enough of it, which says nothing of the file's form.
        RecursionError: it is nested too deeply.
    """
    if isinstance(fault, MemoryError | RecursionError):
        raise fault
    told = " ".join(str(fault).split()) or type(fault).__name__
    if "allocate output buffer" in told:
        # So says zlib, by an error of its own.
        raise MemoryError
    return LoadingError(path, f"{name} cannot read it: {told}", hint="is it what its name says?")
