"""Files of a folder that are missing, or something else than a file."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random

from campaign.folders.breakage import Breakage, clear, sound

Apply = Callable[[Path, Random], None]

SOP, METADATA, SPECS, DATA = "sop.md", "metadata.json", "toolspecs.json", "data.csv"
CALLS, TOOLS, POLICY = "expected_calls.jsonl", "tools.py", "policy.py"


def _without(file: str) -> Apply:
    return lambda folder, _: clear(folder / file)


def _in_place_of(file: str, make: Callable[[Path], None]) -> Apply:
    def apply(folder: Path, _random: Random) -> None:
        clear(folder / file)
        make(folder / file)

    return apply


def _socket(path: Path) -> None:
    here = Path.cwd()
    # The path of a socket may have about a hundred characters, so it is a short one.
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(here)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _null(path: Path) -> None:
    path.symlink_to("/dev/null")


def _zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS: dict[str, Callable[[Path], None]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "a device without end": _zero,
}


def _strange() -> list[Breakage]:
    found: list[Breakage] = []
    for file in (SOP, METADATA, SPECS, DATA, CALLS, TOOLS, POLICY):
        # Without a regular file of this name, nothing says that the folder is a domain.
        says, listed = (("lab",), "absent") if file == METADATA else ((file,), "broken")
        found += [
            Breakage(
                name=f"{file} is {kind}",
                apply=_in_place_of(file, make),
                says=says,
                listed="absent" if listed == "absent" else "broken",
            )
            for kind, make in KINDS.items()
        ]
    return found


def _links() -> list[Breakage]:
    found: list[Breakage] = []
    for file, says in ((SOP, "sop.md"), (SPECS, SPECS), (DATA, "data.csv")):
        found.append(
            Breakage(name=f"{file} links to itself", apply=_in_place_of(file, _loop), says=(says,))
        )
        found.append(
            Breakage(
                name=f"{file} links to nowhere", apply=_in_place_of(file, _dangling), says=(says,)
            )
        )
        found.append(
            Breakage(name=f"{file} links to nothing", apply=_in_place_of(file, _null), says=(says,))
        )
    return found


def _closed(file: str) -> Apply:
    def apply(folder: Path, _random: Random) -> None:
        path = folder / file
        if not path.exists():
            path.write_text("", encoding="utf-8")
        path.chmod(0)

    return apply


def _closed_folder(mode: int) -> Apply:
    return lambda folder, _: folder.chmod(mode)


def _permissions() -> list[Breakage]:
    denied = "ermission denied"
    found = [
        Breakage(
            name=f"{file} without permission",
            apply=_closed(file),
            says=(file, denied),
            unprivileged=True,
        )
        for file in (SOP, METADATA, SPECS, DATA, CALLS, TOOLS)
    ]
    for name, mode in {"without permission": 0o000, "that may not be entered": 0o600}.items():
        found.append(
            Breakage(
                name=f"the folder {name}",
                apply=_closed_folder(mode),
                says=("lab", denied),
                unprivileged=True,
            )
        )
    found.append(
        Breakage(
            name="a folder that may be entered, and not listed",
            apply=_closed_folder(0o100),
            says=(denied,),
            listed="usable",
            unprivileged=True,
        )
    )
    return found


def _beside(file: str, content: str) -> Apply:
    def apply(folder: Path, _random: Random) -> None:
        (folder / file).write_text(content, encoding="utf-8")

    return apply


def _many_files(folder: Path, random: Random) -> None:
    for number in range(2_000):
        (folder / f"{random.randrange(10**9)}-{number}.txt").write_text("", encoding="utf-8")


def _hostile_name(folder: Path, _random: Random) -> None:
    os.mkdir(os.fsencode(folder) + b"/\xff\xfe\n\x1b[31m")  # noqa: PTH102 - no text, no path


def _link_to_above(folder: Path, _random: Random) -> None:
    (folder / "above").symlink_to("..")
    (folder.parent / "again").symlink_to("well")


def _is_a_file(folder: Path, _random: Random) -> None:
    clear(folder)
    folder.write_text("a domain is a folder\n", encoding="utf-8")


def _is_a_link_to_itself(folder: Path, _random: Random) -> None:
    clear(folder)
    folder.symlink_to(folder.name)


def _is_gone(folder: Path, _random: Random) -> None:
    clear(folder)


def _is_empty(folder: Path, _random: Random) -> None:
    clear(folder)
    folder.mkdir()


_ROWS = "sample_id,reading,grade\nT_01,50,retest\n"

BREAKAGES: list[Breakage] = [
    Breakage(name="no sop.md", apply=_without(SOP), says=("sop.md",)),
    Breakage(name="no metadata.json", apply=_without(METADATA), says=("lab",), listed="absent"),
    Breakage(name="no toolspecs.json", apply=_without(SPECS), says=(SPECS,)),
    Breakage(name="no data.csv", apply=_without(DATA), says=(DATA,)),
    Breakage(name="two SOPs", apply=_beside("sop.txt", "Another."), says=("sop.txt", SOP)),
    Breakage(
        name="two descriptions",
        apply=_beside("domain.toml", 'name = "lab"\noutput_columns = ["grade"]\n'),
        says=("domain.toml", METADATA),
    ),
    Breakage(name="two tables", apply=_beside("tasks.jsonl", "{}\n"), says=("tasks.jsonl", DATA)),
    Breakage(name="the folder is a file", apply=_is_a_file, says=("lab",), listed="absent"),
    Breakage(name="the folder is gone", apply=_is_gone, says=("lab",), listed="absent"),
    Breakage(name="the folder is empty", apply=_is_empty, says=("lab",), listed="absent"),
    Breakage(
        name="the folder links to itself",
        apply=_is_a_link_to_itself,
        says=("lab",),
        listed="absent",
    ),
    sound("2,000 other files", _many_files),
    sound("a file whose name is no text", _hostile_name),
    sound("links to the folder above and to a domain", _link_to_above),
    sound("a published table beside data.csv", _beside("test_set_with_outputs.csv", _ROWS)),
    *_strange(),
    *_links(),
    *_permissions(),
]
