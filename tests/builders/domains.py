"""The doors of the rooms that load and audit domains: a test that needs no more comes in here.

If a function moves, this file alone changes.
"""

from __future__ import annotations

from pathlib import Path

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._audit.model import Finding, Severity
from pytest_sopbench._core.variants import Variant
from pytest_sopbench._loading.evidence import STRONG_FILE, data_hash
from pytest_sopbench._loading.finding import BUNDLED, domains_in
from pytest_sopbench._loading.load import is_domain_folder, load_domain
from pytest_sopbench._loading.metadata import read_metadata
from pytest_sopbench._loading.variants import variants_of
from pytest_sopbench._running.tools.codeless import look_up

__all__ = [
    "BUNDLED",
    "STRONG_FILE",
    "Finding",
    "Severity",
    "Variant",
    "audit",
    "audit_domain",
    "data_hash",
    "domains_in",
    "is_domain_folder",
    "load_domain",
    "look_up",
    "read_metadata",
    "variants_of",
]


def audit_domain(folder: Path) -> tuple[Finding, ...]:
    """Return what is not sound in the folder of a domain, without what its metadata accept."""
    return audit(folder).findings
