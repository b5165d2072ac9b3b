# ruff: noqa: ARG005 - a policy takes what it is given
"""What `--agent` names is found, or the message says what to correct."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._running.agents import spec as agent_spec
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.agents.spec import resolve_agent
from pytest_sopbench.errors import AgentSpecError, LoadingError


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A user's current directory; what is imported from it is forgotten afterwards."""
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in sys.modules.keys() - modules:
        del sys.modules[name]


def test_an_attribute_of_a_module_in_the_folder_is_found(project: Path) -> None:
    (project / "spec_one.py").write_text("def agent(inputs): return 'here'\n")

    agent: Any = resolve_agent("spec_one:agent", path=project)

    assert "here" == agent({})


def test_an_attribute_of_an_attribute_is_found(project: Path) -> None:
    package = project / "spec_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("class Agent:\n    @staticmethod\n    def go(): return 1\n")

    agent: Any = resolve_agent("spec_package.inner:Agent.go", path=project)

    assert 1 == agent()


def test_the_folder_is_made_importable_once(project: Path) -> None:
    (project / "spec_two.py").write_text("agent = print\n")

    for _ in range(2):
        resolve_agent("spec_two:agent", path=project)

    assert 1 == sys.path.count(str(project))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param("spec_missing:agent", "no module 'spec_missing'", id="no-module"),
        pytest.param("spec_missing.inner:agent", "no module 'spec_missing'", id="no-package"),
        pytest.param("spec_three:agnet", "no attribute 'agnet'\ndid you mean agent", id="near"),
        pytest.param("spec_three:zzz", "no attribute 'zzz'\nan agent is", id="far"),
        pytest.param(":agent", "the module or the attribute is missing", id="no-module-name"),
        pytest.param("spec_three:", "the module or the attribute is missing", id="no-attribute"),
        pytest.param("http://localhost:1", "form http: are not", id="not-built"),
        pytest.param("https://a.example/run", "form https: are not available", id="address"),
        pytest.param("refrence-policy", "did you mean reference-policy", id="near-name"),
        pytest.param("somebody", "no agent is registered by that name", id="no-name"),
    ],
)
def test_a_spec_that_names_nothing_says_what_to_correct(
    project: Path, spec: str, said: str
) -> None:
    (project / "spec_three.py").write_text("def agent(): ...\n")

    with pytest.raises(AgentSpecError, match=said):
        resolve_agent(spec, path=project)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param("x = 1\nimport no_such_library\n", r"broken\.py:2", id="import"),
        pytest.param("x = 1\ny = (\n", r"SyntaxError: .*\n +at .*broken\.py:2", id="syntax"),
        pytest.param("\n\nz = 1 / 0\n", r"ZeroDivisionError: .*\n +at .*py:3", id="fault"),
        pytest.param("import sys\nsys.exit('no key')\n", r"SystemExit: no key\n.*py:2", id="exit"),
        pytest.param("import json\njson.loads('{')\n", r"py:2", id="inside-a-library"),
    ],
)
def test_a_module_that_fails_is_told_with_the_users_own_line(
    project: Path, source: str, said: str
) -> None:
    (project / "broken.py").write_text(source)

    with pytest.raises(AgentSpecError, match=said):
        resolve_agent("broken:agent", path=project)


def test_a_failure_without_a_place_is_told_without_one() -> None:
    assert "agent 'a:b': importing a failed: OSError: gone" == agent_spec._import_failure(
        "a:b", "a", OSError("gone")
    )


def test_ctrl_c_during_the_import_stops_everything(project: Path) -> None:
    (project / "stopped.py").write_text("raise KeyboardInterrupt\n")

    with pytest.raises(KeyboardInterrupt):
        resolve_agent("stopped:agent", path=project)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    (project / "spec_plug.py").write_text("agent = 'plugged'\n")
    (project / "spec_bad.py").write_text("raise ValueError('bad plug')\n")
    (project / "spec_stop.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(project)
    entries = importlib.metadata.EntryPoints(
        importlib.metadata.EntryPoint(name, f"spec_{name}:agent", agent_spec.GROUP)
        for name in ("plug", "bad", "stop")
    )
    monkeypatch.setattr(agent_spec, "entry_points", lambda group: entries)


@pytest.mark.usefixtures("registered")
def test_a_registered_name_is_found(project: Path) -> None:
    assert "plugged" == resolve_agent("plug", path=project)


@pytest.mark.usefixtures("registered")
def test_a_registered_agent_that_fails_is_told(project: Path) -> None:
    with pytest.raises(AgentSpecError, match=r"ValueError: bad plug\n +at .*spec_bad\.py:1"):
        resolve_agent("bad", path=project)
    with pytest.raises(KeyboardInterrupt):
        resolve_agent("stop", path=project)


POLICY = "def decide(inputs, call):\n    return {'shelf': call('get_score', parcel_id='PX1')}\n"


@pytest.mark.parametrize("as_mapping", [True, False], ids=["by-name", "in-a-row"])
def test_the_reference_policy_decides_for_its_domain(bench: Any, as_mapping: bool) -> None:
    path = bench.folder / "policy.py"
    path.write_text(POLICY)
    domain = bench.domain(policy_file=path)
    domains = {"parcels": domain} if as_mapping else [domain]

    agent = resolve_agent("reference-policy", domains=domains, path=bench.folder)
    answer = AgentCaller(agent).call(domain, bench.task(), bench.toolbox().tools)

    assert {"shelf": {"score": 4}} == answer


def test_every_selected_domain_needs_a_policy(bench: Any) -> None:
    with pytest.raises(LoadingError, match="no reference policy"):
        resolve_agent("reference-policy", domains=[bench.domain()], path=bench.folder)


def test_a_domain_that_was_not_selected_has_no_policy(bench: Any) -> None:
    agent: Any = resolve_agent("reference-policy", path=bench.folder)

    with pytest.raises(LoadingError, match="was not asked for this domain"):
        agent({}, None, "parcels")


def test_policies_may_be_given_by_who_knows_which_are_trusted(bench: Any) -> None:
    agent: Any = resolve_agent(
        "reference-policy",
        path=bench.folder,
        policies=lambda name: lambda inputs, call: {"shelf": name},
    )

    assert {"shelf": "parcels"} == agent({}, bench.toolbox().tools, "parcels")


@pytest.mark.parametrize(
    ("spec", "said", "hint"),
    [
        pytest.param(
            "desk.warrenty:agent",
            "there is no module 'desk.warrenty'",
            "did you mean desk.warranty:agent? looked in",
            id="misspelled-module",
        ),
        pytest.param("dask:agent", "no module 'dask'", "did you mean desk:agent?", id="package"),
        pytest.param(
            "desk.warranty",
            "no agent is registered by that name, and it is a module",
            "did you mean desk.warranty:agent?",
            id="no-attribute",
        ),
        pytest.param(
            "desk/warranty.py:bot", "an agent is named by its module", "write desk.warranty:bot"
        ),
        pytest.param(
            "./desk/warranty.py", "an agent is named by its module", "write desk.warranty:agent"
        ),
    ],
)
def test_a_spec_that_is_nearly_right_is_written_right(
    project: Path, spec: str, said: str, hint: str
) -> None:
    (project / "desk").mkdir()
    (project / "desk" / "__init__.py").write_text("")
    (project / "desk" / "warranty.py").write_text("def agent(inputs): return {}\n")

    with pytest.raises(AgentSpecError) as caught:
        resolve_agent(spec, path=project)

    assert said in caught.value.message
    assert caught.value.hint.startswith(hint)


def test_a_name_that_no_disk_takes_is_no_module(project: Path) -> None:
    with pytest.raises(AgentSpecError, match=f"^agent '{'x' * 300}'"):
        resolve_agent("x" * 300, path=project)
