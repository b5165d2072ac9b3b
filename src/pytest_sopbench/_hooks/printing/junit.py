"""What pytest has written as JUnit XML, read again, since it offers no say in it.

A gate forgives misses, and some CI servers read every failure as one. And a job may print the
file, where the name of a task must be no command to the server.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pytest_sopbench._core.gates.conditions import GateState
from pytest_sopbench._core.hiding import as_xml_without_commands
from pytest_sopbench._hooks.deciding.gate import Gate
from pytest_sopbench._sessions.file.atomic import replace_file


class JunitFile:
    """Writes misses as skipped, unless the project wants them as failures, and no command."""

    def __init__(self, config: pytest.Config, gate: Gate, *, misses: str) -> None:
        self._gate = gate
        self._misses = misses
        given: str | None = config.getoption("xmlpath", None)
        # As pytest reads it, and as early: an agent may go into another folder.
        expanded = os.path.expanduser(os.path.expandvars(given or ""))  # noqa: PTH111
        self._path = Path(expanded).absolute() if given else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        result = yield
        path = self._path
        if path is not None and path.is_file():
            if self._misses == "skipped" and self._are_forgiven:
                skip_misses(path)
            disarm(path)
        return result

    @property
    def _are_forgiven(self) -> bool:
        """Whether the misses fail nothing: a shard has no gate, and any other gate has to hold.

        A CI server may read this file and no exit status, so a gate that fails shows in it.
        """
        gate = self._gate
        if not gate.is_set:
            return gate.forgives
        holds = all(verdict.state is GateState.HOLDS for verdict in gate.verdicts)
        return gate.is_decided and not gate.not_evaluated and holds


def skip_misses(path: Path) -> None:
    """Turn the failures of misses in a JUnit XML file into skipped tests, counts included."""
    tree = ET.parse(path)  # noqa: S314 - pytest wrote it a moment ago
    for suite in tree.iter("testsuite"):
        moved = 0
        for case in suite.iter("testcase"):
            failure = case.find("failure")
            marked = case.find("properties/property[@name='sop.miss']")
            if failure is not None and marked is not None:
                failure.tag = "skipped"
                failure.set("type", "sop.miss")
                moved += 1
        suite.set("failures", str(int(suite.get("failures", "0")) - moved))
        suite.set("skipped", str(int(suite.get("skipped", "0")) + moved))
    tree.write(path, encoding="utf-8", xml_declaration=True)


def disarm(path: Path) -> None:
    """Take commands to a CI server out of a JUnit XML file; a parser reads the same as before."""
    text = path.read_text("utf-8")
    safe = as_xml_without_commands(text)
    if safe != text:
        with replace_file(path) as file:
            file.write(safe.encode())
