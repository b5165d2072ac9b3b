"""A Python of its own for each copy of the source, in which the package is that copy.

A path in the environment is not enough: an audit starts its child in isolation (`python -I`), and
some tests start processes with an empty environment. So each copy has a virtual environment, which
puts it before the installed packages.
"""

from __future__ import annotations

import sys
import sysconfig
import venv
from pathlib import Path

from mutants.mutant import PACKAGE


def make_python(folder: Path, source: Path) -> Path:
    """Make a virtual environment for a copy in a folder; return its interpreter.

    What is installed here is found there too, but for what its own `.pth` files add: one of these
    names the working tree.
    """
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    installed = dict.fromkeys(sysconfig.get_path(one) for one in ("purelib", "platlib"))
    (packages / f"{PACKAGE}.pth").write_text("\n".join((str(source), *installed, "")), "utf-8")
    python = folder / "bin" / "python"
    _adapt_commands(python)
    return python


def _adapt_commands(python: Path) -> None:
    """Bring the commands of what is installed along, each started by the other interpreter."""
    for command in Path(sys.executable).parent.iterdir():
        target = python.parent / command.name
        if target.exists() or command.is_symlink() or not command.is_file():
            continue
        first, end, rest = command.read_bytes().partition(b"\n")
        if first.startswith(b"#!") and b"python" in first:
            target.write_bytes(f"#!{python}".encode() + end + rest)
            target.chmod(0o755)
