"""Variants of the tasks of a session: runs beside the originals, which count nowhere with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import pytest

from pytest_sopbench._core.variants import AUTOMATIC, Replacement, Variant, variant_id
from pytest_sopbench._hooks.session.domains import ActiveDomain, TaskRef
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._loading.files import did_you_mean, listed
from pytest_sopbench._loading.variants import bundled_sops, own_names, variants_of
from pytest_sopbench.errors import SopbenchError

VARIANT: Final = pytest.StashKey[TaskRef]()
"""Stands on the item of a variant, which has no `REF`: whoever counts runs passes it over."""

VARIANTS: Final = pytest.StashKey["Variants"]()


class Variants:
    """The variants that the options name, in one process."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._known: dict[str, tuple[Variant, ...]] = {}
        self._changed: dict[tuple[str, str | None], ActiveDomain] = {}

    def check(self) -> None:
        """Read the files of all domains that are known before anything is collected.

        Raises:
            pytest.UsageError: no domain has one of the variants, or a file cannot be used.
        """
        names = self._sop.options.variants
        if not names or not self._sop.has_domains:
            return
        domains = [active.domain for active in self._sop.domains]
        known = [*AUTOMATIC, *(one for domain in domains for one in own_names(domain))]
        for name in names:
            if name not in known:
                what = (
                    did_you_mean(name, known) or f"the variants are {listed(dict.fromkeys(known))}"
                )
                hint = f"{what}; variants/{name}.jsonl in the folder of a domain would be one"
                msg = f"--sop-variants: no domain has a variant {name!r}\n{hint}"
                raise pytest.UsageError(msg)
        for active in self._sop.domains:
            self.of(active)

    def of(self, active: ActiveDomain) -> tuple[Variant, ...]:
        """Return the variants of a domain.

        Raises:
            pytest.UsageError: a file cannot be used.
        """
        domain = active.domain
        if domain.name not in self._known:
            others = partial(bundled_sops, domain.name)
            try:
                found = variants_of(domain, self._sop.options.variants, others)
            except SopbenchError as error:
                raise pytest.UsageError(str(error)) from None
            self._known[domain.name] = found
        return self._known[domain.name]

    def refs(self, ref: TaskRef) -> Iterator[TaskRef]:
        """Yield the variants of a task, each of which is tried once."""
        if ref.key.trial > 1 or not ref.selected:
            return
        for one in self.of(ref.domain):
            replacement = one.of(ref.key.task)
            if replacement is not None:
                yield self._ref(ref, one.name, replacement)

    def _ref(self, ref: TaskRef, name: str, replacement: Replacement) -> TaskRef:
        active, position = self._with_sop(ref.domain, replacement.sop), ref.position
        if replacement.inputs is not None:
            task = replace(ref.task, inputs=replacement.inputs)
            domain = replace(active.domain, tasks=(task,), task_ids=(task.id,))
            active, position = replace(active, domain=domain), 0
        key = ref.key._replace(task=variant_id(ref.key.task, name))
        return replace(ref, domain=active, position=position, key=key, variant=name)

    def _with_sop(self, active: ActiveDomain, sop: str | None) -> ActiveDomain:
        """Return a domain as an agent is shown it; how it is judged stays what it is."""
        if sop is None:
            return active
        place = active.domain.name, sop
        if place not in self._changed:
            # Steps of its own are those of another text.
            domain = replace(active.domain, sop=sop, own_steps=None)
            self._changed[place] = replace(active, domain=domain)
        return self._changed[place]


def variants_in(sop: SopSession) -> Variants:
    """Return the variants of a session, which are the same for all that ask."""
    stash = sop.config.stash
    if VARIANTS not in stash:
        stash[VARIANTS] = Variants(sop)
    return stash[VARIANTS]
