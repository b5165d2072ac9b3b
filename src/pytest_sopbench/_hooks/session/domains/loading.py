"""A domain, loaded so that no message of it tells a secret."""

from __future__ import annotations

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding.masking import masking
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._loading.finding.resolve import FoundDomain
from pytest_sopbench._loading.load import load_domain


def loaded(found: FoundDomain, redaction: Redaction) -> Domain:
    """Load a domain; what its errors and warnings quote is masked before it is cut.

    Raises:
        SopbenchError: it cannot be loaded.
    """
    with masking(redaction.text):
        return load_domain(found.folder, name=found.name)
