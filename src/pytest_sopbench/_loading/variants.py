"""Variants of a domain: automatic ones, and files of its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.variants import (
    AUTOMATIC,
    NOISE,
    NOSOP,
    Replacement,
    Variant,
    variant_id,
    with_noise,
)
from pytest_sopbench.errors import LoadingError, RowError

from .files import (
    did_you_mean,
    is_a_file,
    read_text,
    refuse_links_out,
)
from .finding import BUNDLED, domains_in
from .layout import rows_with_ids
from .load import SOP_FILES

# The variants of a domain that a user names: automatic ones, and files of its folder.

FOLDER: Final = "variants"
KEYS: Final = ("id", "sop", "inputs")


def variants_of(
    domain: Domain, names: Sequence[str], others: Callable[[], Sequence[str]]
) -> tuple[Variant, ...]:
    """Return those of the named variants that a domain has.

    Args:
        domain: the domain.
        names: what the user asked for.
        others: gives the SOPs of other domains, from which noise is taken.

    Raises:
        LoadingError: a file cannot be used, or a variant is called as a task is.
    """
    folder = domain.folder / FOLDER
    for name in AUTOMATIC:
        if (folder / f"{name}.jsonl").exists():
            why = f"{name} is made for every domain, and no file gives it"
            raise LoadingError(folder / f"{name}.jsonl", why, hint="call the file otherwise")
    found = tuple(one for name in names if (one := _variant(domain, name, others)) is not None)
    _check_ids(domain, found)
    return found


def own_names(domain: Domain) -> Sequence[str]:
    """Return the names of the variants that the folder of a domain gives."""
    return sorted(path.stem for path in (domain.folder / FOLDER).glob("*.jsonl"))


def _variant(domain: Domain, name: str, others: Callable[[], Sequence[str]]) -> Variant | None:
    if name == NOSOP:
        return Variant(name=name, of_all=Replacement(sop=""))
    if name == NOISE:
        mixed = with_noise(domain.name, domain.sop, others())
        return Variant(name=name, of_all=Replacement(sop=mixed))
    path = domain.folder / FOLDER / f"{name}.jsonl"
    if not is_a_file(path):
        return None
    refuse_links_out(domain.folder, (f"{FOLDER}/{path.name}",))
    return Variant(name=name, by_task=_read(path, domain))


def _check_ids(domain: Domain, found: Sequence[Variant]) -> None:
    known = frozenset(domain.task_ids)
    for one in found:
        taken = next((task for task in known if variant_id(task, one.name) in known), None)
        if taken is not None:
            why = f"the task {variant_id(taken, one.name)!r} is called as a variant of {taken!r} is"
            raise LoadingError(domain.data_file, why, hint="rename the task or the variant")


def _read(path: Path, domain: Domain) -> Mapping[str, Replacement]:
    places = {task_id: place for place, task_id in enumerate(domain.task_ids)}
    found: dict[str, Replacement] = {}
    for line, task_id, value in rows_with_ids(path, KEYS, "a variant"):
        if task_id not in places:
            hint = did_you_mean(task_id, places) or "a variant is one of a task of its domain"
            raise RowError(path, f"there is no task {task_id!r}", row=line, column="id", hint=hint)
        found[task_id] = _replacement(path, line, value, domain, domain.tasks[places[task_id]])
    return found


def _replacement(
    path: Path, line: int, row: Mapping[str, JsonValue], domain: Domain, task: Task
) -> Replacement:
    sop, inputs = row.get("sop"), row.get("inputs")
    if "sop" not in row and "inputs" not in row:
        why = "it replaces nothing"
        raise RowError(path, why, row=line, hint="give the sop or the inputs that replace")
    if "sop" in row and (not isinstance(sop, str) or not sop.strip()):
        hint = f"{NOSOP} is the variant without an SOP"
        raise RowError(path, "not a text, or an empty one", row=line, column="sop", hint=hint)
    if "inputs" in row and (not isinstance(inputs, Mapping) or not inputs):
        hint = "all that the agent is given"
        raise RowError(path, "not a JSON object with keys", row=line, column="inputs", hint=hint)
    if "inputs" in row and domain.document is None:
        why = "the tools of a domain answer for its own rows, so inputs are replaced without tools"
        raise RowError(path, why, row=line, column="inputs", hint="only the sop can be replaced")
    for key, value, own in (("sop", sop, domain.sop), ("inputs", inputs, task.inputs)):
        if key in row and value == own:
            why = "it replaces nothing: this is what the task has"
            raise RowError(path, why, row=line, column=key, hint="remove the key, or change it")
    return Replacement(
        sop=sop if isinstance(sop, str) else None,
        inputs=inputs if isinstance(inputs, Mapping) else None,
    )


# The SOPs of the bundled domains, from which noise is taken.


def bundled_sops(but: str) -> Sequence[str]:
    """Return the SOPs of all bundled domains but the one of that name, by their names."""
    return [
        read_text(folder / name)
        for folder in domains_in(BUNDLED)
        if folder.name != but
        for name in SOP_FILES
        if (folder / name).is_file()
    ]
