"""Sound domains, made unsound in one place, or written in another way that changes nothing."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from builders.domains import BUNDLED, audit

DOMAINS = ("dangerous_goods", "customer_service")
"""One with its rows in a table, one with JSON."""

NOISE = frozenset({"symptom", "product_name", "tags"})
"""Columns that the procedure itself says to decide nothing by."""

Change = Callable[["Copy", random.Random], str]


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a domain's folder that may be changed."""

    folder: Path

    def json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text("utf-8"))

    def write_json(self, name: str, value: Any) -> None:
        (self.folder / name).write_text(json.dumps(value, indent=1), "utf-8")

    @property
    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json("metadata.json")
        return found

    @property
    def sop(self) -> str:
        return (self.folder / "sop.md").read_text("utf-8")

    def write_sop(self, text: str) -> None:
        (self.folder / "sop.md").write_text(text, "utf-8")

    @property
    def is_table(self) -> bool:
        return (self.folder / "data.csv").is_file()

    def rows(self) -> list[dict[str, Any]]:
        if self.is_table:
            with (self.folder / "data.csv").open(encoding="utf-8", newline="") as file:
                return list(csv.DictReader(file))
        lines = (self.folder / "tasks.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def write_rows(self, rows: Sequence[Mapping[str, Any]], **style: Any) -> None:
        if not self.is_table:
            text = "".join(json.dumps(row, **style) + "\n" for row in rows)
            (self.folder / "tasks.jsonl").write_text(text, "utf-8")
            return
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n", **style)
        writer.writeheader()
        writer.writerows(rows)
        (self.folder / "data.csv").write_text(stream.getvalue(), "utf-8", newline="")

    def specs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json("toolspecs.json")
        return found


def copy_of(domain: str, folder: Path) -> Copy:
    """Copy a domain into a folder that is there."""
    target = folder / domain
    shutil.copytree(BUNDLED / domain, target, ignore=shutil.ignore_patterns("__pycache__"))
    return Copy(target)


# --- unsound ---------------------------------------------------------------------------------

_COMPARED = re.compile(
    r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?=(?: [\w/%]+){0,2} or (?:more|less))"
    r"|(?:(?<=at least )|(?<=at most )|(?<=more than )|(?<=fewer than )|(?<=less than )"
    r"|(?<=below -)|(?<=including )|(?<=[0-9] to )|(?<=\| ))[0-9]+(?:\.[0-9]+)?(?=[ .,|])"
)


def threshold(copy: Copy, lot: random.Random) -> str:
    """Another number in a clause that decides."""
    text = copy.sop
    start = text.index("\n## 4")
    found = [match for match in _COMPARED.finditer(text) if match.start() > start]
    match = lot.choice(found)
    places = len(match[0].partition(".")[2])
    step = lot.choice((1, 2, 3)) * (1 if not places else 10**-places)
    other = f"{float(match[0]) + lot.choice((1, 1, -1)) * step:.{places}f}"
    copy.write_sop(text[: match.start()] + other.lstrip("-") + text[match.end() :])
    line = text.count("\n", 0, match.start()) + 1
    return f"sop.md:{line}: {match[0]} is {other}"


def label(copy: Copy, lot: random.Random) -> str:
    """Another expected answer on one row."""
    rows, field = copy.rows(), copy.metadata["output_columns"][0]
    row = lot.choice(rows)
    others = sorted({one[field] for one in rows} - {row[field]})
    before, row[field] = row[field], lot.choice(others)
    copy.write_rows(rows)
    return f"{before} is {row[field]}"


def tool(copy: Copy, lot: random.Random) -> str:
    """Another look-up tool."""
    metadata = copy.metadata
    tools = metadata["tools"]
    served = [name for name, one in tools.items() if one.get("returns")]
    needed = [name for name in served if name not in metadata.get("distractors", ())]
    name, other = lot.sample(needed, 2)
    kind = lot.choice(("fewer", "swapped", "gone", "renamed", "constant", "unchecked", "key"))
    if kind == "fewer":
        tools[name]["returns"].remove(lot.choice(tools[name]["returns"]))
    elif kind == "swapped":
        tools[name]["returns"], tools[other]["returns"] = (
            tools[other]["returns"],
            tools[name]["returns"],
        )
    elif kind == "gone":
        del tools[name]
    elif kind == "renamed":
        tools[f"{name}_2"] = tools.pop(name)
    elif kind == "constant":
        tools[name] = {"result": dict.fromkeys(tools[name]["returns"], 1)}
    elif kind == "unchecked":
        tools[name] = {"returns": tools[name]["returns"]}
    else:
        tools[name]["key"] = [lot.choice(metadata["input_columns"][1:])]
    copy.write_json("metadata.json", metadata)
    return f"{kind} {name}"


def spec(copy: Copy, lot: random.Random) -> str:
    """Another spec of a tool."""
    specs = copy.specs()
    distractors = copy.metadata.get("distractors", ())
    one = lot.choice([one for one in specs if one["toolSpec"]["name"] not in distractors])
    name = one["toolSpec"]["name"]
    schema = one["toolSpec"]["inputSchema"]["json"]
    parameter = lot.choice(sorted(schema["properties"]))
    kind = lot.choice(("gone", "renamed", "type", "parameter", "lacking", "more", "pattern"))
    if kind == "gone":
        specs.remove(one)
    elif kind == "renamed":
        one["toolSpec"]["name"] = f"{name}s"
    elif kind == "type":
        schema["properties"][parameter] = {"type": "boolean"}
    elif kind == "parameter":
        other = f"{parameter}_no"
        schema["properties"][other] = schema["properties"].pop(parameter)
        schema["required"] = [other if name == parameter else name for name in schema["required"]]
    elif kind == "lacking":
        del schema["properties"][parameter]
        schema["required"].remove(parameter)
    elif kind == "more":
        schema["properties"]["approved_by"] = {"type": "string"}
        schema["required"].append("approved_by")
    else:
        schema["properties"][parameter] = {"type": "string", "pattern": "^[a-c]{2}$"}
    copy.write_json("toolspecs.json", specs)
    return f"{kind} {name}.{parameter}"


def column(copy: Copy, lot: random.Random) -> str:
    """Another column of the data."""
    rows, metadata = copy.rows(), copy.metadata
    kept = {*NOISE, *metadata["output_columns"]}
    served = {name for one in metadata["tools"].values() for name in one.get("returns", ())}
    decisive = sorted((served | set(metadata["input_columns"][1:])) & set(rows[0]) - kept)
    name = lot.choice(decisive)
    kind = lot.choice(("gone", "renamed", "shifted", "twice", "emptied"))
    if kind == "gone":
        rows = [{key: value for key, value in row.items() if key != name} for row in rows]
    elif kind == "renamed":
        rows = [{key if key != name else f"{key}_": v for key, v in row.items()} for row in rows]
    elif kind == "shifted":
        cells = [row[name] for row in rows]
        for row, cell in zip(rows, cells[7:] + cells[:7], strict=True):
            row[name] = cell
    elif kind == "twice":
        id_column = metadata["id_column"]
        one, other = lot.sample(range(len(rows)), 2)
        rows[one][id_column] = rows[other][id_column]
    else:
        rows = [{**row, name: "" if copy.is_table else None} for row in rows]
    copy.write_rows(rows)
    return f"{kind} {name}"


def rule(copy: Copy, lot: random.Random) -> str:
    """Another rule of the contract."""
    metadata = copy.metadata
    rules = metadata["contract"]["rules"]
    kind = lot.choice((*_WITH, "clause", "when", "tool"))
    one = lot.choice([rule for rule in rules if _WITH.get(kind, "id") in rule])
    if kind == "tool":
        text = json.dumps(one)
        name = lot.choice([name for name in metadata["tools"] if f'"{name}"' in text])
        rules[rules.index(one)] = json.loads(text.replace(f'"{name}"', f'"{name}s"'))
    else:
        one.update(_other_rule(kind, one, metadata["input_columns"][0], lot))
        one.pop({"forbids": "requires", "requires": "forbids"}.get(kind, ""), None)
    copy.write_json("metadata.json", metadata)
    return f"{kind} {one['id']}"


_WITH = {"before": "before", "forbids": "requires", "requires": "forbids", "none": "at_most"}
"""The key that a rule must have for a change of this kind."""


def _other_rule(
    kind: str, one: Mapping[str, Any], id_column: str, lot: random.Random
) -> Mapping[str, Any]:
    if kind == "clause":
        return {"clause": f"{lot.randrange(30, 60)}.{lot.randrange(1, 9)}"}
    if kind == "before":
        return {"before": [*reversed(one["before"])]}
    if kind == "forbids":
        tools = one["requires"]
        return {"forbids": tools.get("all_of") or tools.get("any_of")}
    if kind == "requires":
        return {"requires": {"all_of": one["forbids"]}}
    if kind == "none":
        return {"at_most": dict.fromkeys(one["at_most"], 0)}
    return {"when": {"input": id_column, "equals": "nobody has this id"}}


MUTATIONS: Mapping[str, Change] = {
    "threshold": threshold,
    "label": label,
    "tool": tool,
    "spec": spec,
    "column": column,
    "rule": rule,
}


# --- written in another way ------------------------------------------------------------------


def reordered(copy: Copy, lot: random.Random) -> str:
    rows = copy.rows()
    lot.shuffle(rows)
    copy.write_rows(rows)
    return "rows in another order"


def quoted(copy: Copy, lot: random.Random) -> str:
    style = {"quoting": csv.QUOTE_ALL} if copy.is_table else {"separators": (" , ", " : ")}
    copy.write_rows(copy.rows(), **style)
    return "other quotation marks"


def columns_moved(copy: Copy, lot: random.Random) -> str:
    rows = copy.rows()
    names = list(rows[0])
    lot.shuffle(names)
    copy.write_rows([{name: row[name] for name in names} for row in rows])
    return "columns in another order"


def spaced(copy: Copy, lot: random.Random) -> str:
    text = copy.sop
    at = lot.choice([match.start() for match in re.finditer("\n\n", text)])
    copy.write_sop(f"{text[:at]}\n\n{text[at:]}   \n")
    return "empty lines in the SOP"


def indented(copy: Copy, lot: random.Random) -> str:
    name = lot.choice(("metadata.json", "toolspecs.json"))
    (copy.folder / name).write_text(json.dumps(copy.json(name), indent=lot.choice((None, 4))))
    return f"{name} with other white space"


def windows(copy: Copy, lot: random.Random) -> str:
    path = copy.folder / lot.choice(("sop.md", "metadata.json", "policy.py"))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return f"{path.name} with other line ends"


def marked(copy: Copy, lot: random.Random) -> str:
    path = copy.folder / ("data.csv" if copy.is_table else "tasks.jsonl")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    return "a byte order mark"


def renamed(copy: Copy, lot: random.Random) -> str:
    (copy.folder / "sop.md").rename(copy.folder / "sop.txt")
    return "sop.txt for sop.md"


def specs_moved(copy: Copy, lot: random.Random) -> str:
    specs = copy.specs()
    lot.shuffle(specs)
    copy.write_json("toolspecs.json", specs)
    return "specs in another order"


def unwrapped(copy: Copy, lot: random.Random) -> str:
    plain = [
        {
            "name": one["toolSpec"]["name"],
            "description": one["toolSpec"]["description"],
            "inputSchema": one["toolSpec"]["inputSchema"]["json"],
        }
        for one in copy.specs()
    ]
    copy.write_json("toolspecs.json", plain)
    return "specs in another shape"


HARMLESS: Sequence[Change] = (
    reordered,
    quoted,
    columns_moved,
    spaced,
    indented,
    windows,
    marked,
    renamed,
    specs_moved,
    unwrapped,
)


def drawn(seed: int, number: int) -> Iterator[tuple[str, str, Change, random.Random]]:
    """So many mutations: name, domain, change, and the numbers that it is drawn with."""
    kinds = list(MUTATIONS)
    for at in range(number):
        kind, domain = kinds[at % len(kinds)], DOMAINS[at // len(kinds) % len(DOMAINS)]
        lot = random.Random(f"{seed}/{at}")  # noqa: S311 - to be repeated
        yield f"mutation/{at} {kind} of {domain}", domain, MUTATIONS[kind], lot


def rewritten(seed: int, number: int) -> Iterator[tuple[str, str, Change, random.Random]]:
    """So many rewritings that change nothing."""
    for at in range(number):
        change, domain = HARMLESS[at % len(HARMLESS)], DOMAINS[at // len(HARMLESS) % len(DOMAINS)]
        lot = random.Random(f"{seed}/harmless/{at}")  # noqa: S311 - to be repeated
        yield f"rewriting/{at} {change.__name__} of {domain}", domain, change, lot


def found_in(
    domain: str, change: Change, lot: random.Random, folder: Path
) -> tuple[str, list[str]]:
    """Change a copy; say what was changed, and name what is found in it and not in the domain."""
    copy = copy_of(domain, folder)
    known = _known(domain)
    what = change(copy, lot)
    return what, [one for one in _found(copy.folder) if one not in known]


@cache
def _known(domain: str) -> list[str]:
    return _found(BUNDLED / domain)


def _found(folder: Path) -> list[str]:
    return [f"{one.rule}: {one.what}" for one in audit(folder).findings]
