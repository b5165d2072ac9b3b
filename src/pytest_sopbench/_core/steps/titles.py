"""What the title of a section says of it: that it holds for all steps, or holds the steps."""

from __future__ import annotations

import re
from typing import Final

_GENERAL: Final = frozenset(
    {
        *(
            "abbreviations",
            "acronyms",
            "annex",
            "annexes",
            "appendices",
            "appendix",
            "applicability",
        ),
        *("attachment", "attachments", "audience", "background", "changes", "contacts", "context"),
        *(
            "definition",
            "definitions",
            "disclaimer",
            "glossary",
            "history",
            "introduction",
            "notes",
        ),
        *("objective", "objectives", "overview", "preamble", "preface", "prerequisites", "purpose"),
        *("reference", "references", "responsibilities", "revision", "revisions", "role", "roles"),
        *("scope", "terminology", "terms"),
    }
)
_PROCEDURE: Final = frozenset(
    {
        *("instruction", "instructions", "method", "procedure", "procedures", "process", "steps"),
        "workflow",
    }
)
_BESIDE: Final = frozenset(
    {
        *("a", "and", "detailed", "document", "documents", "for", "general", "important", "key"),
        *("main", "of", "our", "related", "step-by-step", "the", "used", "words"),
    }
)
_WORD: Final = re.compile(r"[^\W\d_][\w-]*")
_APPENDIX: Final = re.compile(r"^[*_#\s]*(?:appendix|annex|attachment)\b", re.IGNORECASE)


def is_general(title: str) -> bool:
    """Whether a section of that title holds for all steps: `Purpose and scope`, `Annex B`.

    Every word has to be one of a short list, so that no step is taken for one.
    """
    return is_appendix(title) or _says_only(title, _GENERAL)


def holds_steps(title: str) -> bool:
    """Whether a section of that title holds the steps: `Main Procedure`, `Instructions`."""
    return _says_only(title, _PROCEDURE)


def is_appendix(title: str) -> bool:
    """Whether a line begins an appendix."""
    return _APPENDIX.match(title) is not None


def _says_only(title: str, words: frozenset[str]) -> bool:
    said = [word.lower() for word in _WORD.findall(title)]
    return any(one in words for one in said) and all(one in words | _BESIDE for one in said)
