"""Folders that cannot be used: each says why, and none stands in the way of another."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._loading.finding.resolve import find_domains, load_catalogue
from pytest_sopbench._loading.finding.search_paths import SearchPaths
from pytest_sopbench._loading.load import FILES as OF_A_DOMAIN
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.variants import variants_of
from pytest_sopbench.errors import LoadingError, ToolSpecError

MakeDomain = Callable[..., Path]

ROWS = "parcel_id,label,weight,route\nP1,red,12.50,north\n"

SPEC: dict[str, Any] = {
    "name": "weigh_parcel",
    "parameters": {"type": "object", "properties": {"parcel_id": {}, "label": {}}},
}


def rules(pattern: str) -> dict[str, Any]:
    """A contract with a condition that matches by a pattern."""
    when = {"input": "label", "matches": pattern}
    return {"rules": [{"id": "red", "when": when, "forbids": ["weigh_parcel"]}]}


def specs(pattern: str) -> dict[str, str]:
    """Tool specs with a parameter that must match a pattern."""
    spec = json.loads(json.dumps(SPEC))
    spec["parameters"]["properties"]["parcel_id"]["pattern"] = pattern
    return {"toolspecs.json": json.dumps([spec])}


DEEP = "(" * 2_000 + "a" + ")" * 2_000

UNUSABLE: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "a condition that repeats too often": ({}, {"contract": rules("a{99999999999}")}),
    "a condition that nests too deeply": ({}, {"contract": rules(DEEP)}),
    "a condition that is no expression": ({}, {"contract": rules("(")}),
    "a spec that repeats too often": (specs("a{99999999999}"), {}),
    "a spec that nests too deeply": (specs(DEEP), {}),
    "specs in 2,000 lists": ({"toolspecs.json": "[" * 2_000 + "]" * 2_000}, {}),
    "metadata in 2,000 lists": ({"metadata.json": "[" * 2_000 + "]" * 2_000}, {}),
    "rows in 2,000 lists": ({"data.csv": ROWS + f'P4,"{"[" * 2_000}",1'}, {}),
    "more keys than a person writes": ({}, {f"key_{place}": place for place in range(100_000)}),
    "a key of a million letters": ({}, {"input_columns": ["x" * 1_000_000]}),
    "a column 100,000 times": ({}, {"input_columns": ["label"] * 100_000}),
    "10,000 tools and another in the contract": (
        {"toolspecs.json": json.dumps([{"name": f"tool_{place}"} for place in range(10_000)])},
        {"tools": {}, "contract": {"rules": [{"id": "a", "forbids": ["weigh"]}]}},
    ),
}


@pytest.mark.parametrize("fault", UNUSABLE)
def test_an_unusable_folder_hides_no_other(
    make_domain: MakeDomain, tmp_path: Path, fault: str
) -> None:
    files, metadata = UNUSABLE[fault]
    make_domain(name="sound", folder="here/sound")
    make_domain(files, folder="here/broken", **{"name": "broken"} | metadata)
    where = SearchPaths(rootdir=tmp_path, invocation_dir=tmp_path, sop_paths=(Path("here"),))

    domains, broken = load_catalogue(["all"], where)

    assert ["sound"] == [domain.name for domain in domains]
    assert ["broken"] == list(broken)
    assert len(broken["broken"]) < 1_000
    assert 2 >= len(broken["broken"].splitlines())
    assert tmp_path / "here" / "sound" == find_domains(["sound"], where)[0].folder


def refuse_below(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system refuse what lies below a folder, as it does to all but root."""
    real_stat, real_list = Path.stat, os.listdir

    def is_below(path: Any) -> bool:
        return folder in Path(path).parents

    def refused(path: Any) -> PermissionError:
        return PermissionError(errno.EACCES, "Permission denied", str(path))

    def stat(self: Path, **options: Any) -> os.stat_result:
        if is_below(self):
            raise refused(self)
        return real_stat(self, **options)

    def listdir(path: Any = ".") -> list[str]:
        if Path(path) == folder:
            raise refused(path)
        return real_list(path)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(os, "listdir", listdir)


def test_a_folder_without_permission_is_listed_as_such(
    make_domain: MakeDomain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_domain(name="sound", folder="here/sound")
    closed = make_domain(name="closed", folder="here/closed")
    where = SearchPaths(rootdir=tmp_path, invocation_dir=tmp_path, sop_paths=(Path("here"),))
    refuse_below(closed, monkeypatch)

    domains, broken = load_catalogue(["all"], where)

    assert ["sound"] == [domain.name for domain in domains]
    assert {"closed": f"{closed}: cannot be read: Permission denied"} == broken
    assert tmp_path / "here" / "sound" == find_domains(["sound"], where)[0].folder


def test_a_search_path_without_permission_hides_no_other(
    make_domain: MakeDomain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_domain(name="sound", folder="here/sound")
    closed = tmp_path / "there"
    closed.mkdir()
    paths = (Path("there"), Path("here"))
    where = SearchPaths(rootdir=tmp_path, invocation_dir=tmp_path, sop_paths=paths)
    refuse_below(closed, monkeypatch)

    domains, broken = load_catalogue(["all"], where)

    assert ["sound"] == [domain.name for domain in domains]
    assert ["there"] == list(broken)


def test_links_that_lead_nowhere_hide_no_other(make_domain: MakeDomain, tmp_path: Path) -> None:
    make_domain(name="sound", folder="here/sound")
    (tmp_path / "here" / "loop").symlink_to(tmp_path / "here" / "loop")
    (tmp_path / "here" / "gone").symlink_to(tmp_path / "nowhere")
    where = SearchPaths(rootdir=tmp_path, invocation_dir=tmp_path, sop_paths=(Path("here"),))

    domains, broken = load_catalogue(["all"], where)

    assert ["sound"] == [domain.name for domain in domains]
    assert {} == broken


FILES = ("tools.py", "policy.py", "expected_calls.jsonl", "toolspecs.json", "data.csv", "sop.txt")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["a folder", "no regular file"])
def test_what_must_be_a_file_is_one(make_domain: MakeDomain, name: str, kind: str) -> None:
    folder = make_domain({name: None})
    (folder / name).mkdir() if kind == "a folder" else os.mkfifo(folder / name)

    with pytest.raises(LoadingError) as caught:
        load_domain(folder)

    assert f"{folder / name}: is {kind}, and must be a file" == caught.value.message


def test_an_empty_list_of_tools_is_told(make_domain: MakeDomain) -> None:
    domain = load_domain(make_domain({"toolspecs.json": "[]"}, tools=None))

    assert "toolspecs.json lists no tool: the agent has no tools" in domain.warnings


def test_an_entry_for_a_tool_that_an_empty_list_lacks_is_told(make_domain: MakeDomain) -> None:
    with pytest.raises(ToolSpecError) as caught:
        load_domain(make_domain({"toolspecs.json": "[]"}))

    assert "toolspecs.json has no tool" == caught.value.hint


def test_an_input_that_is_private_is_told(make_domain: MakeDomain) -> None:
    domain = load_domain(make_domain(private_columns=["label"]))

    assert ("parcel_id",) == domain.input_columns
    assert (
        "metadata.json: 'label' in 'input_columns' and in 'private_columns':"
        " no agent is given what is private"
    ) in domain.warnings


def test_ten_thousand_tools_are_loaded(make_domain: MakeDomain) -> None:
    many = [SPEC, *({"name": f"tool_{place}"} for place in range(10_000))]

    domain = load_domain(make_domain({"toolspecs.json": json.dumps(many)}))

    assert 10_001 == len(domain.tool_specs)
    assert all(len(warning) < 1_000 for warning in domain.warnings)


def test_a_hundred_thousand_keys_of_a_published_folder_are_counted(
    make_domain: MakeDomain,
) -> None:
    keys = {f"key_{place}": place for place in range(100_000)}
    files = {"data.csv": None, "test_set_with_outputs.csv": ROWS}

    domain = load_domain(make_domain(files, **keys))

    assert len(domain.warnings) < 20
    assert "metadata.json: 99988 more keys are unknown and have no effect" in domain.warnings


def linked(folder: Path, name: str, content: str = "{}") -> Path:
    """Put a link to a file of the user's own in the place of a file of the domain."""
    secret = folder.parent / "of_the_user"
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    secret.write_bytes(path.read_bytes() if path.exists() else content.encode())
    path.unlink(missing_ok=True)
    path.symlink_to(secret)
    return path


@pytest.mark.parametrize("name", OF_A_DOMAIN)
def test_a_file_of_a_domain_that_leads_out_of_its_folder_is_refused(
    make_domain: MakeDomain, name: str
) -> None:
    """What stands in an SOP is sent to a model; a link would send any file of the user."""
    path = linked(make_domain(), name)

    with pytest.raises(LoadingError) as refused:
        load_domain(path.parent)

    assert (path, "is a link that leads out of the domain's folder") == (
        refused.value.path,
        refused.value.problem,
    )


def test_a_link_within_the_folder_and_a_folder_that_is_one_itself_are_read(
    make_domain: MakeDomain, tmp_path: Path
) -> None:
    folder = make_domain()
    (folder / "texts").mkdir()
    (folder / "sop.txt").rename(folder / "texts" / "sop.txt")
    (folder / "sop.txt").symlink_to(folder / "texts" / "sop.txt")
    (tmp_path / "here").symlink_to(folder, target_is_directory=True)

    assert "Weigh" in load_domain(tmp_path / "here").sop


@pytest.mark.parametrize("name", ["variants", "variants/other.jsonl"])
def test_a_variant_that_leads_out_of_the_folder_is_refused(
    make_domain: MakeDomain, tmp_path: Path, name: str
) -> None:
    folder = make_domain()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "other.jsonl").write_text('{"task": "P1", "sop": "Skip it."}\n')
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(elsewhere / name.removeprefix("variants").strip("/"))

    with pytest.raises(LoadingError, match="leads out of the domain's folder"):
        variants_of(load_domain(folder), ["other"], list)
