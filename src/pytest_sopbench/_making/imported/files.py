"""The files of a domain that is made from a table."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pytest_sopbench._making.example import template
from pytest_sopbench._making.sheet.columns import Column

from .plan import Plan
from .tools import tool_entry, tool_spec

REPORT = "import.txt"


def domain_files(plan: Plan, report: str) -> Mapping[str, str]:
    """Return the files of the domain by their names; `report` says what was made of the table."""
    files = {
        plan.procedure.file: plan.procedure.text,
        "metadata.json": f"{json.dumps(_metadata(plan), indent=2, ensure_ascii=False)}\n",
        "data.csv": _rows(plan),
        "agent.py": _agent(plan),
        REPORT: report,
    }
    if plan.tools:
        specs = [tool_spec(tool, plan.roles.id, plan.names, plan.texts) for tool in plan.tools]
        files["toolspecs.json"] = f"{json.dumps(specs, indent=2, ensure_ascii=False)}\n"
    else:
        files["toolspecs.json"] = "[]\n"
    return files


def _metadata(plan: Plan) -> dict[str, Any]:
    roles, names = plan.roles, plan.names
    mapped = {names[one.name]: one.name for one in plan.columns if names[one.name] != one.name}
    private = _ours(plan, roles.private)
    texts = [one for one in plan.columns if one.name in plan.texts and one not in roles.outputs]
    metadata: dict[str, Any] = {
        "name": plan.place.name,
        "id_column": names[roles.id.name],
        "input_columns": _ours(plan, roles.given),
        "output_columns": _ours(plan, roles.outputs),
        "outputs": {
            names[one.name]: plan.outputs[one.name].declared(private=one in roles.private)
            for one in roles.outputs
        },
    }
    optional: dict[str, Any] = {
        "private_columns": private,
        "types": dict.fromkeys(_ours(plan, tuple(texts)), "text"),
        "columns": mapped,
        "tools": {tool.name: tool_entry(tool, roles.id, names) for tool in plan.tools},
    }
    return metadata | {key: value for key, value in optional.items() if value}


def _ours(plan: Plan, columns: tuple[Column, ...]) -> list[str]:
    return [plan.names[one.name] for one in columns]


def _rows(plan: Plan) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([one.name for one in plan.columns])
    for place in plan.kept:
        writer.writerow([_text(plan, one, place) for one in plan.columns])
    return stream.getvalue()


def _text(plan: Plan, column: Column, place: int) -> str:
    text = column.cells[place].text
    values = plan.outputs.get(column.name)
    return text if values is None else values.written(text)


def _agent(plan: Plan) -> str:
    outputs = [one for one in plan.roles.outputs if one not in plan.roles.private]
    answers = Counter(tuple(_text(plan, one, place) for one in outputs) for place in plan.kept)
    most = answers.most_common(1)[0][0]
    frequent = {plan.names[one.name]: text for one, text in zip(outputs, most, strict=True)}
    # What JSON writes of texts, Python reads; and its quotes are those of our other files.
    answer = json.dumps(frequent, indent=4, ensure_ascii=False)
    return template("agent_from_table.py", plan.place).replace("@ANSWER@", answer)
