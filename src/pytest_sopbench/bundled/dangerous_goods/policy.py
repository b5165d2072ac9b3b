# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: DG-SOP-014 as a function of a dossier and the answers of the tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_sopbench.errors import ToolError

UN_NUMBER = re.compile(r"UN[0-9]{4}")  # clause 4.1
VALID_SCORES = frozenset({1, 2, 3, 4, 5})  # clause 2.3
SCORES = (  # clause 5.1: tool, section of the dossier, score
    ("calculate_sds_label_score", "sds_label_text", "sds_label_score"),
    ("calculate_handling_score", "handling_guidelines", "handling_score"),
    ("calculate_transport_score", "transport_requirements", "transport_score"),
    ("calculate_disposal_score", "disposal_guidelines", "disposal_score"),
)
CLASSES = ((16, "D"), (12, "C"), (8, "B"), (4, "A"))  # clause 6.1: lowest total, letter
EXTREME_SCORE, LOWEST_CLASS_IF_EXTREME = 5, "C"  # clause 6.2
SMALL_QUANTITY_KG, CLASS_IF_SMALL = 1.0, {"C": "B", "B": "A"}  # clause 6.3
UNDECIDED = "Unable to Decide"


def decide(inputs: Mapping[str, Any], call: Callable[..., Any]) -> dict[str, str]:
    """Return the class of one product; `call(tool, **arguments)` raises `ToolError`."""
    if UN_NUMBER.fullmatch(inputs["un_number"] or "") is None:
        return {"hazard_class": UNDECIDED}  # clause 4.2

    scores = {name: _score(inputs, call, tool, text, name) for tool, text, name in SCORES}
    valid = [score for score in scores.values() if score is not None]
    missing = len(scores) - len(valid)
    if missing > 2 or (missing == 2 and scores["sds_label_score"] is None):  # noqa: PLR2004 - clauses 5.3, 5.4
        return {"hazard_class": UNDECIDED}

    total = sum(valid) + missing * max(valid)  # clause 5.2
    letter = next(letter for lowest, letter in CLASSES if total >= lowest)
    if EXTREME_SCORE in valid:
        letter = max(letter, LOWEST_CLASS_IF_EXTREME)
    elif not missing and inputs["net_quantity_kg"] <= SMALL_QUANTITY_KG:  # clause 6.4
        letter = CLASS_IF_SMALL.get(letter, letter)

    call("record_class", product_id=inputs["product_id"], hazard_class=letter, total_score=total)
    return {"hazard_class": f"Hazard Class {letter}"}


def _score(
    inputs: Mapping[str, Any], call: Callable[..., Any], tool: str, text: str, name: str
) -> int | None:
    """Request one score; None is a missing one, clause 2.4."""
    try:
        answer = call(tool, **{"product_id": inputs["product_id"], text: inputs[text]})
    except ToolError:
        return None
    return int(answer[name]) if answer[name] in VALID_SCORES else None
