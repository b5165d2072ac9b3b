# ruff: noqa: INP001, PLR2004 - one module in a folder of its own; its numbers are the SOP's
"""A deliberately imperfect agent for `dangerous_goods`, so that a summary has failures to show.

It reads the first two letters of the UN number only, stops asking once the class looks settled,
counts a missing score as zero, knows nothing of extreme scores and small quantities, gives up on
thin dossiers, and breaks on an empty UN number. It always does the same.
"""

from __future__ import annotations

from typing import Any

from pytest_sopbench.errors import ToolError

SCORES = {
    "sds_label_score": "sds_label_text",
    "handling_score": "handling_guidelines",
    "transport_score": "transport_requirements",
    "disposal_score": "disposal_guidelines",
}


def agent(inputs: dict[str, Any], tools: Any) -> str:
    """Return the class in a tag, or a sentence without one."""
    # An empty UN number is None, and None has no `startswith`: the error is part of the show.
    if not inputs["un_number"].startswith("UN"):
        return "<hazard_class>Unable to Decide</hazard_class>"

    total = failed = 0
    for score, section in SCORES.items():
        if total >= 13:  # the last score is skipped where the rest is bad enough already
            total += 3
            break
        try:
            arguments = {"product_id": inputs["product_id"], section: inputs[section]}
            total += tools.call(f"calculate_{score}", **arguments)[score]
        except ToolError:
            failed += 1

    if failed >= 2:
        return "This dossier is too thin for me, please ask the Product Data Team."
    letter = "D" if total >= 16 else "C" if total >= 12 else "B" if total >= 8 else "A"
    tools.call(
        "record_class",
        product_id=inputs["product_id"],
        hazard_class=letter,
        total_score=total,
    )
    return f"<hazard_class>Hazard Class {letter}</hazard_class>"
