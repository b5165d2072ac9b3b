"""What to do with a domain that has been made: three commands, and what is still open."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._audit.report.text import audit_lines

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


def to_do_lines(folder: Path, *, run_code: bool = True) -> Iterator[str]:
    """Yield what is still open in a domain's folder: what its audit finds.

    Code that is known to hang, or to end its process, need not be run once more.

    This is the one place that knows what checks a new domain.
    """
    yield from audit_lines(audit(folder, run_code=run_code))
