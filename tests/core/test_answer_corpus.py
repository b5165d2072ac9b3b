"""A corpus: texts as models of today write them, each with what a reader takes for the answer.

The texts were written before the code, in `data/answer_corpus_*.toml`; a sentence says why where
two readers might differ. With `unclear` they do. With `left` a person reads an answer that the
rule leaves out, and why.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pytest_sopbench import Answer, OutputField
from tests.builders.judged import FieldType, compare, find_answer, read_returned

DATA = Path(__file__).parent / "data"


def read(name: str) -> dict[str, Any]:
    return tomllib.loads((DATA / f"answer_corpus_{name}.toml").read_text(encoding="utf-8"))


TASKS = read("tasks")
TEXTS = {
    f"{part}-{name}": row
    for part in (
        "one",
        "many",
        "fresh",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
    )
    for name, row in read(part).items()
}
CLEAR = {name: row for name, row in TEXTS.items() if "unclear" not in row}
ANSWERED = {name: row for name, row in CLEAR.items() if "answer" in row and "left" not in row}
LEFT = {name: row for name, row in CLEAR.items() if "left" in row}
SILENT = {name: row for name, row in CLEAR.items() if "answer" not in row}


def fields_of(task: str) -> tuple[OutputField, ...]:
    return tuple(
        OutputField(
            name=field["name"], type=FieldType(field["type"]), values=tuple(field.get("values", ()))
        )
        for field in TASKS[task]["fields"]
    )


def answer_to(row: dict[str, Any]) -> Answer:
    sop = TASKS[row["task"]].get("sop", "")
    return find_answer(read_returned(row["said"]), fields_of(row["task"]), sop)


def test_the_corpus_is_large_and_both_judgements_occur_often() -> None:
    said = {(row["task"], row["said"]) for row in TEXTS.values()}

    assert len(TEXTS) == len(said)
    assert 1000 <= len(said)
    assert 395 <= len(SILENT)


def test_of_the_clear_texts_the_rule_leaves_out_few() -> None:
    assert len(LEFT) <= 0.04 * len(CLEAR)


def mismatches(row: dict[str, Any], answer: Answer) -> list[object]:
    """What differs between an answer and what a person reads."""
    fields = fields_of(row["task"])
    # A table names the fields.
    is_named = isinstance(row["answer"], dict)
    by_name: dict[str, Any] = row["answer"] if is_named else {fields[0].name: row["answer"]}
    compared = (compare(it, by_name[it.name], answer.values[it.name]) for it in fields)
    return [one for one in compared if one is not None]


def is_found(row: dict[str, Any], answer: Answer) -> bool:
    return answer.complete and not mismatches(row, answer)


def test_what_a_reader_takes_for_the_answer_is_found() -> None:
    found = {name: answer_to(row) for name, row in ANSWERED.items()}

    missed = {name: one for name, one in found.items() if not is_found(ANSWERED[name], one)}

    assert {} == missed


def test_what_the_rule_leaves_out_is_not_right() -> None:
    """The list of what is left shrinks with the first text that is read."""
    assert [] == [name for name, row in LEFT.items() if is_found(row, answer_to(row))]


def test_where_a_reader_finds_no_answer_there_is_none() -> None:
    found = {name: answer_to(row) for name, row in SILENT.items()}

    assert {} == {name: one for name, one in found.items() if one.complete}
