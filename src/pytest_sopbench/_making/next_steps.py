"""What to do with a domain that has been made: three commands, and what is still open."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError

from .place import Place


def example_commands(place: Place) -> tuple[str, ...]:
    """Return the commands for a domain that has a reference policy."""
    domain = shlex.quote(place.domain)
    return (
        f"pytest --sop-domain={domain} --agent=reference-policy",
        f"pytest --sop-domain={domain} --agent={place.agent} --sop-fail-under=0.9",
        f"pytest {place.folder / place.test_file}",
    )


def table_commands(place: Place) -> tuple[str, ...]:
    """Return the commands for a domain that has rows, and an agent that knows nothing yet."""
    domain = shlex.quote(place.domain)
    return (
        f"sopbench list {domain} -v",
        f"pytest --sop-domain={domain} --agent={place.agent} --sop-sample=20",
        f"pytest --sop-domain={domain} --agent={place.agent} --sop-fail-under=0.9",
    )


def to_do_lines(folder: Path) -> Iterator[str]:
    """Yield what is still open in a domain's folder, a line each; none where nothing is.

    This is the one place that knows what checks a new domain: today it is loading.
    """
    try:
        domain = load_domain(folder)
    except LoadingError as fault:
        yield " ".join(str(fault).split())
        return
    for warning in domain.warnings:
        yield " ".join(warning.split())
