"""What variants of tasks tell, on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.variants.findings import VariantFinding
from pytest_sopbench._reports.terminal.variants import variant_text

from .markdown_blocks import escaped, table


def variants_block(found: Sequence[VariantFinding]) -> Iterator[str]:
    """Yield a row for each variant; none of it stands in any rate of the page."""
    if not found:
        return
    yield "## Variants"
    yield ""
    heads = ("domain", "agent", "variant", "what it tells")
    rows = (map(escaped, (one.domain, one.agent, one.name, variant_text(one))) for one in found)
    yield from table(heads, [[*row] for row in rows])
