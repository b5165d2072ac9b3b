"""Which names a domain may have."""

from __future__ import annotations

import re

NAME_RULE = (
    "a domain's name has letters (a to z), digits, '.', '_' and '-', and starts with a letter"
    " or a digit"
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def is_domain_name(name: str) -> bool:
    """Whether this may be the name of a domain: nothing in it can leave a folder."""
    return _NAME.fullmatch(name) is not None
