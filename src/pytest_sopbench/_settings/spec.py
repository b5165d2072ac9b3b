"""What the table of options says of one option or ini value."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

Again: TypeAlias = Literal["same", "own", "no"]
"""What the line `again`, which makes one run of a session again, says of an option.

`same` decides a run or its verdict, and is repeated as it was given. `own` does so as well, and
the line says in words of its own what is asked for. `no` decides neither: it selects, saves, shows
or gates a session.
"""

SAME: Final = "same"
OWN: Final = "own"
NO: Final = "no"

Words: TypeAlias = tuple[str, ...]


# No dataclass: making the class takes seven times as long, at every start of pytest.
class OptionSpec(NamedTuple):
    """An option of the command line, an ini value, or one setting that is both.

    `help` is that of the option, and empty where there is none; `ini` is that of the ini value,
    likewise. An option with `metavar` takes a value, one without is a flag. `aliases` are other
    spellings of it, which are added elsewhere. `default` is the text of what holds where nothing
    is set, as a user would write it. `lines` holds where a value is a line, in which a backslash
    stays, and not a word as of a shell. `again` has no default: who adds an option must say it.
    """

    name: str
    again: Again
    help: str = ""
    metavar: str = ""
    aliases: Words = ()
    repeatable: bool = False
    ini: str = ""
    default: Words = ()
    lines: bool = False

    @property
    def option(self) -> str:
        """The option as it is typed."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_option(self) -> bool:
        return bool(self.help)

    @property
    def is_value(self) -> bool:
        """Whether a value follows the option."""
        return bool(self.metavar)

    @property
    def is_ini(self) -> bool:
        return bool(self.ini)

    @property
    def ini_help(self) -> str:
        """The help of the ini value, which ends in what holds where it is not set."""
        return f"{self.ini} (default: {' '.join(self.default)})" if self.default else self.ini

    @property
    def ini_type(self) -> Literal["args", "linelist"]:
        # `args` alone is given back as written by every pytest that we support.
        return "linelist" if self.lines else "args"
