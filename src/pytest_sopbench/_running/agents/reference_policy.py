"""The reference policy of a domain, as an agent: what a run that follows the SOP looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pytest_sopbench._core.model.protocols import Policy, ToolCaller
from pytest_sopbench._core.values.json import JsonValue

REFERENCE_POLICY: Final = "reference-policy"
"""The spec that names this agent."""


class ReferencePolicy:
    """Answers each task with the policy of the task's own domain."""

    def __init__(self, load: Callable[[str], Policy]) -> None:
        self._load = load
        self._policies: dict[str, Policy] = {}

    def policy(self, domain: str) -> Policy:
        """Return the policy of a domain by the domain's name.

        Raises:
            LoadingError: the domain has none that can be used.
        """
        if domain not in self._policies:
            self._policies[domain] = self._load(domain)
        return self._policies[domain]

    def __call__(
        self, inputs: Mapping[str, JsonValue], tools: ToolCaller, domain: str
    ) -> Mapping[str, JsonValue]:
        return self.policy(domain)(inputs, tools.call)
