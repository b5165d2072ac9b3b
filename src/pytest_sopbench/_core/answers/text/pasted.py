"""Leave out the SOP where an agent pasted the whole of it: its examples are no answer."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.model.trace import Returned

_MARK: Final = "[the SOP]"


def without_quoted_sop(returned: Returned, sop: str) -> Returned:
    """Blank out every whole copy of the SOP, so that every offset stays what it was.

    Only a whole copy: a line of it may well be what the SOP asks the agent to say.
    """
    text = returned.text
    if len(text) < len(_MARK) or not sop:
        return returned
    for copy in _copies(sop):
        if copy in text:
            text = text.replace(copy, _MARK.ljust(len(copy)))
    return returned if text is returned.text else replace(returned, text=text)


@lru_cache(maxsize=64)
def _copies(sop: str) -> tuple[str, ...]:
    """The SOP as it may be pasted: with other line ends, or as a JSON or Python string."""
    whole = sop.strip().replace("\r\n", "\n")
    copies = (
        whole,
        whole.replace("\n", "\r\n"),
        json.dumps(whole)[1:-1],
        json.dumps(whole, ensure_ascii=False)[1:-1],
        repr(whole)[1:-1],
    )
    return tuple(copy for copy in dict.fromkeys(copies) if len(copy) > len(_MARK))
