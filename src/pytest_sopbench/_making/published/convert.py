"""Turn a published folder into files of our layout."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.domain.tool_specs import FILE_NAME as SPECS
from pytest_sopbench._loading.files.document import read_text
from pytest_sopbench._loading.files.table import Table, read_table
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.metadata.published_layout import DATA_FILE, is_published
from pytest_sopbench._loading.metadata.read import Described, read_metadata
from pytest_sopbench.errors import LoadingError

from .lookups import Proved, prove
from .proof import call_every_row

_OURS: Final = "data.csv"
_BESIDE: Final = ("license", "licence", "notice", "disclaimer", "readme", "copying")
_TEXTS: Final = ("title", "description", "industry", "licence", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The files of the new folder, those that are copied, and what came of each tool.

    `problem` says why the code could not be called on every row.
    """

    domain: Domain
    files: Mapping[str, str]
    copied: Sequence[str]
    tools: Mapping[str, Proved]
    problem: str


def convert(folder: Path, name: str, *, time_limit: float) -> Converted:
    """Read a published folder, call its code in a process of its own, and lay it out anew.

    Raises:
        LoadingError: it is no published folder, or loading refuses it.
    """
    if not folder.is_dir():
        raise LoadingError(folder, "no such folder")
    if not is_published(folder):
        hint = "a folder of our layout is used as it is: --sop-domain FOLDER"
        raise LoadingError(folder, f"is no published folder: it has no {DATA_FILE}", hint=hint)
    domain = load_domain(folder)
    described = read_metadata(folder)
    table = read_table(domain.data_file)
    problem, tools = _tools(domain, table, time_limit)
    keeps_code = domain.tools_file is not None and any(not one.entry for one in tools.values())
    data_file = DATA_FILE if keeps_code and _reads(domain, DATA_FILE) else _OURS
    metadata = _metadata(described, domain, name, tools)
    return Converted(
        domain=domain,
        files={
            "metadata.json": f"{json.dumps(metadata, indent=2, ensure_ascii=False)}\n",
            data_file: _rows(table),
            _sop_file(folder): domain.sop,
        },
        copied=_copied(folder, keeps_code=keeps_code),
        tools=tools,
        problem=problem,
    )


def _tools(domain: Domain, table: Table, time_limit: float) -> tuple[str, Mapping[str, Proved]]:
    """Prove each tool; without code nothing can be."""
    if domain.tools_file is None:
        reason = "there is no tools.py, so nothing answers for it"
        return "", {spec.name: Proved(reason=reason) for spec in domain.tool_specs}
    cells = [dict(zip(table.columns, map(str, row), strict=True)) for row in table.rows]
    called = call_every_row(domain, cells, time_limit=time_limit)
    return called.problem, {
        spec.name: prove(spec.name, called.rows.get(spec.name, ()), domain)
        for spec in domain.tool_specs
    }


def _reads(domain: Domain, name: str) -> bool:
    return domain.tools_file is not None and name in read_text(domain.tools_file)


_KEPT: Final = frozenset(
    {"outputs", "private_columns", "types", "tags_column", "acceptable_column"}
    | {"known_disagreement_column", "contract", "reject_bad_arguments"}
)


def _metadata(
    described: Described, domain: Domain, name: str, tools: Mapping[str, Proved]
) -> dict[str, Any]:
    known = described.metadata
    made: dict[str, Any] = {"name": name}
    made |= {key: getattr(known, key) for key in _TEXTS if getattr(known, key)}
    made |= {"id_column": _id_column(domain)} if _id_column(domain) else {}
    made |= {
        "input_columns": list(domain.input_columns),
        "output_columns": [one.name for one in domain.fields],
    }
    made |= {key: value for key, value in known.told().items() if key in _KEPT}
    entries: dict[str, JsonValue] = {
        tool: dict(one.entry) for tool, one in tools.items() if one.entry
    }
    return made | ({"tools": entries} if entries else {})


def _id_column(domain: Domain) -> str | None:
    """Return the column whose cells are the ids; none where ids are hashes of inputs."""
    table = read_table(domain.data_file)
    ids = list(domain.task_ids)
    found = (name for name in table.columns if list(map(str, table.cells(name))) == ids)
    return next(found, None)


def _rows(table: Table) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return stream.getvalue()


def _sop_file(folder: Path) -> str:
    return "sop.md" if (folder / "sop.md").is_file() else "sop.txt"


def _copied(folder: Path, *, keeps_code: bool) -> list[str]:
    """Name the files that stay as they are: specs, licences, and with code what it may read."""
    taken = {"metadata.json", "domain.toml", DATA_FILE, _OURS, "sop.md", "sop.txt"}
    files = sorted(one.name for one in folder.iterdir() if one.is_file())
    return [
        name
        for name in files
        if name not in taken
        and not name.startswith(".")
        and (keeps_code or name == SPECS or name.lower().startswith(_BESIDE))
    ]
