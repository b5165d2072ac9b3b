"""What every command needs: the project around it, its sessions, and a way to end."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

import click

from pytest_sopbench._core.gates.conditions import read_fail_under
from pytest_sopbench._core.hiding import harmless, secrets_of
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._core.values.patterns import PatternError, linear_pattern
from pytest_sopbench._reports.text import json_text
from pytest_sopbench._sessions.folder import LAST, not_ended, session_path, with_time
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.saved import SavedSession
from pytest_sopbench._settings.extensions import load_metrics
from pytest_sopbench._settings.project_file import Project, read_project
from pytest_sopbench._settings.readers import ENV, held_by_variables, passwords_of
from pytest_sopbench.errors import SopbenchError

HOLDS: Final = 0
FAILS: Final = 1
WRONG_USAGE: Final = 2
INCONCLUSIVE: Final = 3

_DOUBTED: Final = "pytest_sopbench.doubted"
"""Stands in the context of a command that has read a session which proves nothing."""
_EXTENDED: Final = "pytest_sopbench.extended"
"""Stands in the context of a command that has read the metrics of other packages."""
_LEFT: Final = "it left what it had finished"


class FrontDoor(click.Group):
    """Says our own errors in one message, without a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        # A large session is many small values and no cycles: looking for these doubles the time.
        was_on = gc.isenabled()
        gc.disable()
        try:
            return self._invoked(ctx)
        except SopbenchError as error:
            tell(known_mask()(str(error)))
            sys.exit(WRONG_USAGE)
        except OSError as fault:
            # A name that no disk takes is refused wherever a command looks at it first.
            if fault.filename is None:
                raise
            tell(known_mask()(f"{fault.filename}: {fault.strerror or fault}"))
            sys.exit(WRONG_USAGE)
        except click.UsageError as error:
            told = error.format_message()
            if harmless(told) == told:
                raise
            # What was typed is a part of it, and click writes it as it is.
            raise click.UsageError(harmless(told), error.ctx) from None
        finally:
            # A program may have called the command.
            if was_on:
                gc.enable()

    def _invoked(self, ctx: click.Context) -> object:
        """Run a command, which ends as inconclusive if it has read what proves nothing."""
        try:
            result = super().invoke(ctx)
        except SystemExit as end:
            if end.code or _DOUBTED not in ctx.meta:
                raise
            result = None
        if _DOUBTED in ctx.meta:
            sys.exit(INCONCLUSIVE)
        return result


def read_rate(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Read a share from 0 to 1 as a gate on TSR has it, `0.9` or `90%`: the callback of an option.

    Raises:
        click.BadParameter: it is none.
    """
    try:
        return None if value is None else read_fail_under(value).value
    except ValueError as fault:
        raise click.BadParameter(str(fault)) from None


def project() -> Project:
    """Return what the project in the current folder has configured."""
    return read_project(Path.cwd())


def known_redaction(agent_args: Sequence[str] = ()) -> Redaction:
    """Return what the project masks, as far as the environment of this command knows it.

    Raises:
        PatternError: a pattern cannot be used.
    """
    words = project().words("sop_redact")
    settings = (*agent_args, *project().words("sop_judge"))
    held = [os.environ.get(one.removeprefix(ENV), "") for one in words if one.startswith(ENV)]
    held += (one for _, one in held_by_variables(settings, os.environ))
    return Redaction(
        patterns=tuple(linear_pattern(one) for one in words if not one.startswith(ENV)),
        secrets=secrets_of([*held, *passwords_of(settings, os.environ)]),
    )


def known_mask() -> Callable[[str], str]:
    """Return what takes secrets out of what is said of files of the project."""
    try:
        return known_redaction().cut_text
    except (PatternError, SopbenchError):
        # The configuration cannot be read, which may be what is to be said.
        return Redaction().cut_text


def path_of(session: str) -> Path:
    """Return the file that a NAME or a path of a session stands for."""
    return session_path(session, project().sessions_dir)


def saved_session(session: str) -> SavedSession:
    """Read a session by NAME or path, and tell what is odd about it.

    A command that has read a damaged session never ends with 0.
    """
    load_extensions()
    path = path_of(session)
    why = not_ended(path)
    saved = read_session(path)
    if why:
        is_before = path.stem == LAST and saved.path.stem not in why
        left = f"what follows is of {with_time(saved.path.stem)}" if is_before else _LEFT
        tell(f"{why}; {left}")
    elif not is_ended(saved):
        tell(f"{saved.path}: it has no end; what follows is of the runs that it has")
    for problem in saved.problems:
        tell(problem)
    if saved.doubts:
        _doubt()
    return saved


def load_extensions() -> None:
    """Read the metrics of other packages, once for a command; only sessions and gates need them.

    Raises:
        ExtensionError: one of them cannot be used.
    """
    context = click.get_current_context(silent=True)
    if context is None or _EXTENDED not in context.meta:
        load_metrics(known_mask())
    if context is not None:
        context.meta[_EXTENDED] = True


def is_ended(saved: SavedSession) -> bool:
    """Tell whether a session came to its end; of a slim baseline its lines tell."""
    return saved.finished or saved.slim


def _doubt() -> None:
    """Let the command end as inconclusive, if it would end with 0."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_DOUBTED] = True


def counted_session(session: str) -> SavedSession:
    """Read a session to make numbers of it; of one without an end a command never ends with 0."""
    saved = saved_session(session)
    if not is_ended(saved):
        _doubt()
    return saved


def full_session(session: str) -> SavedSession:
    """Read a session whose runs can be shown, which those of a slim baseline cannot."""
    saved = saved_session(session)
    if saved.slim:
        refuse(
            f"{saved.path}: a slim baseline holds outcomes and names of calls, and nothing to show",
            "compare another session with it: sopbench compare",
        )
    return saved


def say(line: str, *, err: bool = False) -> None:
    """Write a line, which nobody's text can make a command to a terminal or a CI server."""
    # No stream takes half of a character that JSON escapes.
    whole = harmless(line).encode("utf-8", "backslashreplace").decode()
    click.echo(whole, err=err)


def say_lines(lines: Iterable[str]) -> None:
    """Write lines, each as `say` does."""
    for line in lines:
        say(line)


def tell(message: str) -> None:
    """Say something beside the output, which a program may read."""
    say(f"sopbench: {message}", err=True)


def refuse(message: str, hint: str = "") -> NoReturn:
    """End as wrong usage."""
    raise SopbenchError(message, hint=hint)


def refuse_beside(option: str, given: Mapping[str, object]) -> None:
    """Refuse the options that say nothing beside another one, as far as they were given."""
    for name, value in given.items():
        if value:
            refuse(f"{name}: it does not go with {option}")


def echo_json(value: object) -> None:
    """Write a value for a program; rates that are unknown are `null`."""
    click.echo(json_text(value))


def short_path(path: Path) -> str:
    """Write a path below the current folder as the user would type it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


# What the project around a command masks, for what was never a part of a session.


def project_redaction(agent_args: Sequence[str] = ()) -> Redaction:
    """Return what the project masks, for what was never a part of the session.

    A variable may be missing if nothing is run. What it would mask is then printed, and no error:
    sessions are masked already, and often they are read where the key is not. `agent_args` are
    those of a session, as `KEY=VALUE`.
    """
    words = project().words("sop_redact")
    named = [one.removeprefix(ENV) for one in words if one.startswith(ENV)]
    if missing := [name for name in named if name not in os.environ]:
        tell(f"sop_redact: not set here: {', '.join(missing)}; what it names is not looked for")
    try:
        return known_redaction(agent_args)
    except PatternError as fault:
        refuse(f"sop_redact: not a regular expression that can be used: {fault}")
