"""`sopbench`: what is not a test run.

Each command imports what it needs when it runs, so that `sopbench --help` is quick.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from pytest_sopbench.errors import SopbenchError

if TYPE_CHECKING:
    from pytest_sopbench._core.models import Domain
    from pytest_sopbench._loading.finding import SearchPaths
    from pytest_sopbench._sessions.approving import Approver, Reason
    from pytest_sopbench._sessions.reader import SavedSession

DEFAULT_PATHS = ("domains", "tests/domains")
DEFAULT_SESSIONS_DIR = ".sop/sessions"
DEFAULT_SNAPSHOTS_DIR = "sop_snapshots"
WRONG_USAGE = 2


class _Group(click.Group):
    """Says our own errors in one message, without a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except SopbenchError as error:
            click.echo(f"sopbench: {error}", err=True)
            sys.exit(WRONG_USAGE)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    version("pytest-sopbench"), prog_name="sopbench", message="%(prog)s %(version)s"
)
def main() -> None:
    """Look at domains and saved sessions of pytest-sopbench."""


@main.command("list")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("-v", "--verbose", count=True, help="Show inputs, tools, values and warnings.")
@click.option("-q", "--quiet", count=True, help="One line for each domain.")
def list_domains(names: tuple[str, ...], verbose: int, quiet: int) -> None:
    """List the domains that are found here, or those that NAME means.

    NAME is what --sop-domain takes: a name, a folder (./lab), a glob, all or bundled.
    """
    from pytest_sopbench._loading.catalogue import load_catalogue
    from pytest_sopbench._reports.listing import listing_lines

    domains, broken = load_catalogue(names, _search_paths(Path.cwd()))
    for line in listing_lines(domains, broken=broken, verbosity=verbose - quiet):
        click.echo(line)
    if names and broken:
        sys.exit(WRONG_USAGE)


@main.command()
@click.argument("session")
@click.argument("task")
def show(session: str, task: str) -> None:
    """Show what one task of a saved session came to, in each of its trials.

    SESSION is a name (last), or a path to a .jsonl file; TASK is DOMAIN/TASK, DOMAIN::TASK, or
    the task's id alone where only one domain has it.
    """
    saved = _saved(session)
    for line in _shown(saved, task):
        click.echo(line)


@main.command()
@click.argument("session")
@click.argument("tasks", nargs=-1, metavar="[TASK...]")
@click.option("--reason", required=True, help="Why; kept with the date beside the snapshots.")
@click.option("--to", "to", metavar="FOLDER", help="Where snapshots are, if not as configured.")
@click.option("--add", is_flag=True, help="Let what was approved before stay approved as well.")
@click.option(
    "--domain", "places", multiple=True, metavar="PATH", help="A domain not found by its name."
)
def approve(
    session: str,
    tasks: tuple[str, ...],
    reason: str,
    to: str | None,
    add: bool,
    places: tuple[str, ...],
) -> None:
    """Approve what a saved session has seen: write snapshots of its runs, and run no agent.

    SESSION and TASK are named as for show; without TASK it is every task of the session. Only
    runs that are correct and keep their contract are approved. The status is 1 where a task that
    was named is not approved, or where none is.
    """
    from pytest_sopbench._reports.approval import approval_lines, unplaced_lines

    if not reason.strip():
        msg = "say why: whoever reads the next diff has nothing else"
        raise click.BadParameter(msg, param_hint="--reason")
    saved = _saved(session)
    records = [one for task in tasks for one in saved.runs_of(task)] if tasks else saved.records
    folder = Path(to or _configured("sop_snapshots_dir", (DEFAULT_SNAPSHOTS_DIR,))[0])
    approver = _approver(folder, {one.domain for one in records}, places, add=add)
    done = approver.approve(records, saved.header, _reason(reason, session))
    for line in approval_lines(done.written, done.unchanged, done.refused, folder=str(folder)):
        click.echo(line)
    for line in unplaced_lines(approver.leftovers()):
        click.echo(line)
    if done.refused if tasks else not (done.written or done.unchanged):
        sys.exit(1)


def _reason(text: str, session: str) -> Reason:
    from datetime import UTC, datetime

    from pytest_sopbench._sessions.approving import Reason

    return Reason(text=text.strip(), date=datetime.now(UTC).date().isoformat(), session=session)


def _approver(folder: Path, names: set[str], places: Sequence[str], *, add: bool) -> Approver:
    from pytest_sopbench._core.snapshot_rules import read_rules
    from pytest_sopbench._sessions.approving import Approver
    from pytest_sopbench._sessions.snapshot_folder import SnapshotFolder

    snapshots = SnapshotFolder(folder)
    try:
        rules = read_rules(_configured("sop_snapshot_rules", ()))
    except ValueError as fault:
        msg = f"sop_snapshot_rules: {fault}"
        raise SopbenchError(msg) from None
    domains = dict(_domains_of({*names, *snapshots.domains()}, places))
    return Approver(snapshots, domains, rules, keep=add)


def _domains_of(names: set[str], places: Sequence[str]) -> Iterator[tuple[str, Domain]]:
    """Yield the domains that have these names, as far as they are found; a place wins."""
    from pytest_sopbench._loading.domain import load_domain
    from pytest_sopbench._loading.finding import find_domains
    from pytest_sopbench.errors import LoadingError

    where = _search_paths(Path.cwd())
    given = {one.name: one for one in find_domains(places, where)}
    for name in sorted(names):
        try:
            found = given.get(name) or find_domains((name,), where)[0]
        except LoadingError:
            continue
        yield name, load_domain(found.folder, name=name)


def _saved(session: str) -> SavedSession:
    from pytest_sopbench._sessions.names import session_path
    from pytest_sopbench._sessions.reader import read_session

    path = session_path(session, Path(_configured("sop_sessions_dir", (DEFAULT_SESSIONS_DIR,))[0]))
    saved = read_session(path)
    for problem in saved.problems:
        click.echo(f"sopbench: {problem}", err=True)
    return saved


def _shown(saved: SavedSession, task: str) -> Iterator[str]:
    from pytest_sopbench._reports.failure import failure_lines

    several = len({record.agent for record in saved.records}) > 1
    for number, record in enumerate(saved.runs_of(task)):
        if number:
            yield ""
        if several:
            yield f"agent {record.agent}"
        yield from failure_lines(record, inputs=None, rerun="", location="")


def _search_paths(folder: Path) -> SearchPaths:
    from pytest_sopbench._loading.finding import SearchPaths

    paths = tuple(folder / path for path in _configured("sop_paths", DEFAULT_PATHS))
    return SearchPaths(rootdir=folder, invocation_dir=folder, sop_paths=paths)


def _configured(name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of an ini value that the project in this folder sets, else the default."""
    import tomllib

    try:
        document = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as fault:
        msg = f"pyproject.toml: cannot be read: {fault}"
        raise SopbenchError(msg) from fault
    table = _table(_table(document.get("tool")).get("pytest"))
    value = {**table, **_table(table.get("ini_options"))}.get(name)
    if isinstance(value, str):
        return tuple(value.split()) or default
    words = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(map(str, words)) or default


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
