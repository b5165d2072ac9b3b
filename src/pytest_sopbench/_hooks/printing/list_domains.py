"""`--sop-list`: the domains that can be found, instead of a test run.

Only what names domains is read, and only what loads them is imported: other options have no part
in a list, and reading them would take longer than all the domains that come with the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import harmless
from pytest_sopbench._hooks.settings.ini import ini_values
from pytest_sopbench._hooks.settings.rootdir import check_rootdir
from pytest_sopbench.errors import SopbenchError


def list_domains(config: pytest.Config) -> pytest.ExitCode:
    """Print the domains that `--sop-domain` names, or all that are known here; run nothing.

    Raises:
        pytest.UsageError: a value means no domain, or one that it names cannot be used.
    """
    try:
        return _print_domains(config)
    except (SopbenchError, pytest.UsageError) as error:
        # Without secrets to mask, nothing else sees what is printed of it.
        raise pytest.UsageError(harmless(str(error))) from None


def _print_domains(config: pytest.Config) -> pytest.ExitCode:
    # Here, since most of the garbage that is searched for in vain comes with these.
    from pytest_sopbench._hooks.settings.asked import domain_paths, read_asked_domains
    from pytest_sopbench._loading.finding import SearchPaths, load_catalogue
    from pytest_sopbench._reports.lists import listing_lines

    check_rootdir(config)
    mask = _read_secrets(config)
    asked = read_asked_domains(config).every
    where = SearchPaths(
        rootdir=config.rootpath,
        invocation_dir=config.invocation_params.dir,
        sop_paths=domain_paths(config),
    )
    domains, broken = load_catalogue(asked, where)
    broken = {name: mask(problem) for name, problem in broken.items()}
    # Before pytest is configured there is no terminal reporter, and its capture is suspended.
    verbosity = config.option.verbose
    audits = _saved_audits(config, domains if verbosity > 0 else ())
    for line in listing_lines(domains, broken=broken, audits=audits, verbosity=verbosity):
        sys.stdout.write(f"{harmless(mask(line))}\n")
    return pytest.ExitCode.USAGE_ERROR if broken and asked else pytest.ExitCode.OK


def _saved_audits(config: pytest.Config, domains: Sequence[Domain]) -> Mapping[str, str]:
    # A plain list shows none of them.
    if not domains:
        return {}
    from pytest_sopbench._audit.report import saved_summary

    return {one.name: saved_summary(one, config.rootpath) for one in domains}


def _read_secrets(config: pytest.Config) -> Callable[[str], str]:
    """Return what masks lines and errors; nothing is loaded for it where nothing is masked."""
    if ini_values(config, "sop_redact") or config.getoption("sop_agent_arg"):
        from pytest_sopbench._hooks.settings.hidden import read_hidden

        return read_hidden(config).redaction.cut_text
    return str
