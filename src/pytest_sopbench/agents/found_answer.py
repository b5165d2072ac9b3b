"""Tell whether a model's text holds an answer, so that a model is asked again only where not.

It decides no run: what the text is worth is judged by who runs the agent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any, Final, cast

_REASONING: Final = re.compile(
    r"<(think|thinking|analysis|reasoning|scratchpad)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_DECODER: Final = json.JSONDecoder()


def has_answer(text: str, output_fields: Mapping[str, object]) -> bool:
    """Whether every output field has a value: in JSON, in tags, or in `Field: value` lines."""
    if not output_fields:
        # The answer is a document, of which nothing but its brackets is known here.
        return next(_objects(_REASONING.sub(" ", text)), None) is not None
    said = unescape(_REASONING.sub(" ", text))
    wanted = {_folded(name) for name in output_fields}
    if any(wanted <= {*map(_folded, found)} for found in _objects(said)):
        return True
    if all(
        _is_tagged(name, said) or _on_a_line(name, one, said) for name, one in output_fields.items()
    ):
        return True
    return len(output_fields) == 1 and _is_only_answer(said, *output_fields.values())


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    place = text.find("{")
    while place >= 0:
        try:
            found, end = _DECODER.raw_decode(text, place)
        except ValueError:
            end = place + 1
        else:
            yield cast("dict[str, Any]", found)
        place = text.find("{", end)


def _is_tagged(name: str, text: str) -> bool:
    return re.search(rf"<{_spelled(name)}(\s[^<>]*)?>\s*[^<\s]", text, re.IGNORECASE) is not None


def _on_a_line(name: str, allowed: object, text: str) -> bool:
    line = rf"^[\s>*_`#|-]*{_spelled(name)}[*_`\s]*[:=|](.*)"
    found = re.findall(line, text, re.IGNORECASE | re.MULTILINE)
    known = _labels(allowed)
    # Of a field with known values, any other words are a thought about it.
    return any(_bare(one) in known if known else _bare(one) for one in found)


def _is_only_answer(text: str, allowed: object) -> bool:
    if re.search(r"<(final_\w+|answer|decision)>\s*[^<\s]", text, re.IGNORECASE):
        return True
    if re.search(r"^\W*(final )?(answer|decision)\W*[:=]\W*\w", text, re.IGNORECASE | re.MULTILINE):
        return True
    return _bare(text) in _labels(allowed)


def _labels(allowed: object) -> frozenset[str]:
    values = cast("list[object]", allowed) if isinstance(allowed, list) else []
    return frozenset(_folded(str(value)) for value in values)


def _bare(text: str) -> str:
    return _folded(text.strip(" .`*|\"'\r\n"))


def _spelled(name: str) -> str:
    return r"[ _-]".join(re.escape(part) for part in re.split(r"[ _-]", name))


def _folded(text: str) -> str:
    return re.sub(r"[\s_-]+", " ", text).strip().casefold()
