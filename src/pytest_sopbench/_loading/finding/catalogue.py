"""Many domains at once, for listings: one that cannot be used hides no other."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError

from .resolve import find_domains, known_domains
from .search_paths import SearchPaths


def load_catalogue(
    values: Sequence[str], where: SearchPaths
) -> tuple[tuple[Domain, ...], dict[str, str]]:
    """Load the domains that the values mean, or all that are known here where there are none.

    Returns:
        The domains that can be used, and the problems of the others by their names.

    Raises:
        LoadingError: a value means no domain, or more than one.
    """
    domains: list[Domain] = []
    broken: dict[str, str] = {}
    for found in find_domains(values, where) if values else known_domains(where):
        if found.problem:
            broken[found.name] = found.problem
            continue
        try:
            domains.append(load_domain(found.folder, name=found.name))
        except LoadingError as error:
            broken[found.name] = str(error)
    return tuple(domains), broken
