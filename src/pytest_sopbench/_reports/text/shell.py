"""Words of a command that a shell takes as it is, to be copied and pasted."""

from __future__ import annotations

import shlex


def shell_word(text: str) -> str:
    """Quote a word for a shell; what cannot be seen on a line is written as an escape."""
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(map(_escaped, text))}'"


def _escaped(sign: str) -> str:
    if sign in "\\'":
        return f"\\{sign}"
    if sign.isprintable():
        return sign
    # By its bytes: a code point is written in digits that not every shell knows, and a digit
    # behind an octal number of three cannot be taken for a part of it.
    return "".join(f"\\{byte:03o}" for byte in sign.encode("utf-8", "surrogateescape"))
