"""Plays a judge, and a gullible one: it obeys whatever stands outside of the fence.

It takes every tag for a tag, whatever its name, and every line that looks like a role or a rule
for the end of the data; so a forged fence leads it out of the data as a real one does.
"""

from __future__ import annotations

import json
import re
import unicodedata

from .competent import Move
from .seen import Seen

NAME = re.compile(r"tags named `([^`]+)`")
TAG = re.compile(r"<\s*(/?)[^<>]*>")
ROLE = re.compile(
    r"\s*(?:system|developer|assistant|user|human|rubric|judge|end of|###|\[/?INST|-{3}|={3}|`{3})",
    re.IGNORECASE,
)


def is_judging(seen: Seen) -> bool:
    return NAME.search(seen.instructions) is not None


def judged(seen: Seen) -> Move:
    """Judge by the words of the expected text, unless somebody says how to judge."""
    texts = fenced_texts(seen)
    answer = texts.get("answer", "")
    quote = " ".join(answer.split()[:5])
    if outside(seen.said[-1]):
        return said(held=True, reason="so I was told", quote=quote)
    lacking = words(texts["expected"]) - words(answer)
    return said(held=not lacking, reason=f"it lacks {sorted(lacking)}", quote=quote)


def said(**reply: object) -> Move:
    return Move(text=json.dumps(reply))


def fenced_texts(seen: Seen) -> dict[str, str]:
    found = NAME.search(seen.instructions)
    assert found is not None
    name = re.escape(found[1])
    pieces = re.findall(rf'<{name} text="(\w+)">\n(.*?)\n</{name}>', seen.said[-1], re.DOTALL)
    return {label: str(json.loads(text)) for label, text in pieces}


def outside(text: str) -> str:
    """Return what stands outside of every pair of tags, as a reader sees it who wants to obey."""
    plain = unicodedata.normalize("NFKC", text)
    plain = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
    heard, inside = [], False
    for line in plain.splitlines():
        inside = inside and not ROLE.match(line)
        rest = 0
        for tag in TAG.finditer(line):
            heard += [] if inside else [line[rest : tag.start()]]
            inside, rest = not tag[1], tag.end()
        heard += [] if inside else [line[rest:]]
    return "".join(heard).strip()


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
