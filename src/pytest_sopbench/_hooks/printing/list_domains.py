"""`--sop-list`: the domains that can be found, instead of a test run."""

from __future__ import annotations

import sys

import pytest

from pytest_sopbench._core.hiding.harmless import harmless
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.options import read_options
from pytest_sopbench._hooks.settings.rootdir import check_rootdir
from pytest_sopbench._loading.finding.catalogue import load_catalogue
from pytest_sopbench._reports.notices.domains import listing_lines
from pytest_sopbench.errors import SopbenchError


def list_domains(config: pytest.Config) -> pytest.ExitCode:
    """Print the domains that `--sop-domain` names, or all that are known here; run nothing.

    Raises:
        pytest.UsageError: a value means no domain, or one that it names cannot be used.
    """
    check_rootdir(config)
    sop = SopSession(config, read_options(config))
    try:
        domains, broken = load_catalogue(sop.options.domains, sop.where)
    except SopbenchError as error:
        raise pytest.UsageError(str(error)) from None
    # Before pytest is configured there is no terminal reporter, and its capture is suspended.
    for line in listing_lines(domains, broken=broken, verbosity=config.option.verbose):
        sys.stdout.write(f"{harmless(line)}\n")
    asked_for_broken = bool(broken and sop.options.domains)
    return pytest.ExitCode.USAGE_ERROR if asked_for_broken else pytest.ExitCode.OK
