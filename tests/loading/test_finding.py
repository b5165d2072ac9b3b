"""Which domains a value of `--sop-domain` means, on folders and packages made for the purpose."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._loading import finding as places
from pytest_sopbench._loading.finding import (
    FoundDomain,
    Origin,
    SearchPaths,
    find_domains,
    known_domains,
    load_catalogue,
)
from pytest_sopbench._loading.load import FILES as OF_A_DOMAIN
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.variants import variants_of
from pytest_sopbench.errors import DomainNotFoundError, LoadingError, ToolSpecError


def domain_at(folder: Path, name: str = "") -> Path:
    folder.mkdir(parents=True)
    metadata = {"name": name or folder.name, "output_columns": ["route"]}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def where(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SearchPaths:
    """A project with two domains, beside a house that ships one."""
    domain_at(root / "domains" / "parcels")
    domain_at(root / "domains" / "letters")
    domain_at(tmp_path / "shipped" / "goods")
    (root / "domains" / "notes").mkdir()
    monkeypatch.setattr(places, "BUNDLED", tmp_path / "shipped")
    return SearchPaths(rootdir=root, invocation_dir=root, sop_paths=(Path("domains"),))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python imports from, in which packages can be installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        del sys.modules[name]


def install(site: Path, name: str, value: str, code: str = "") -> None:
    info = site / f"{name}_dist-1.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-dist\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[pytest_sopbench.domains]\n{name} = {value}\n")
    module = site / value.partition(":")[0].replace(".", "/")
    module.mkdir(parents=True, exist_ok=True)
    (module / "__init__.py").write_text(code)


def names(found: tuple[FoundDomain, ...]) -> list[str]:
    return [one.name for one in found]


def error_of(value: str, where: SearchPaths) -> str:
    with pytest.raises(LoadingError) as caught:
        find_domains([value], where)
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(["parcels"], ["parcels"], id="a-name"),
        pytest.param(["parcels,letters"], ["parcels", "letters"], id="a-list"),
        pytest.param([" parcels , letters,"], ["parcels", "letters"], id="a-loose-list"),
        pytest.param(["letters", "parcels"], ["letters", "parcels"], id="repeated"),
        pytest.param(["parcels", "all", "parcels"], ["parcels", "letters"], id="duplicates"),
        pytest.param(["all"], ["letters", "parcels"], id="the-projects-own"),
        pytest.param(["bundled"], ["goods"], id="the-bundled-ones"),
        pytest.param(["*"], ["goods", "letters", "parcels"], id="a-glob-of-all"),
        pytest.param(["[pl]*s"], ["letters", "parcels"], id="a-glob-of-some"),
        pytest.param(["./domains/parcels"], ["parcels"], id="a-folder"),
        pytest.param(["./domains/parcels,goods"], ["parcels", "goods"], id="folder-and-name"),
        pytest.param(["domains/parcels/"], ["parcels"], id="a-folder-with-a-slash-behind"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_a_value_means_these_domains_in_this_order(
    where: SearchPaths, values: list[str], expected: list[str]
) -> None:
    assert expected == names(find_domains(values, where))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("parcels::P_1", ("parcels", "P_1"), id="name"),
        pytest.param("sop:parcels::P_1", ("parcels", "P_1"), id="node-id"),
        pytest.param("./domains/parcels::P/1", ("parcels", "P/1"), id="folder"),
        pytest.param("parcels::a::b", ("parcels", "a::b"), id="colons-in-the-task"),
    ],
)
def test_one_task_can_be_asked_for(
    where: SearchPaths, value: str, expected: tuple[str, str]
) -> None:
    (found,) = find_domains([value], where)

    assert expected == (found.name, found.task)


def test_two_tasks_of_a_domain_are_two_finds(where: SearchPaths) -> None:
    found = find_domains(["parcels::a", "parcels::b", "parcels::a"], where)

    assert ["a", "b"] == [one.task for one in found]


def test_the_data_file_of_a_node_id_stands_for_its_folder(where: SearchPaths) -> None:
    data = where.rootdir / "domains" / "parcels" / "data.csv"
    data.touch()

    (found,) = find_domains(["domains/parcels/data.csv::P_1"], where)

    assert (data.parent, "P_1") == (found.folder, found.task)


@pytest.mark.usefixtures("where")
def test_paths_start_where_the_command_was_typed(root: Path) -> None:
    inside = SearchPaths(rootdir=root, invocation_dir=root / "domains" / "parcels")

    (found,) = find_domains(["."], inside)

    assert root / "domains" / "parcels" == found.folder
    assert Origin.PATH is found.origin


def test_a_tilde_is_the_home_folder(
    where: SearchPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    domain_at(tmp_path / "mine")

    assert ["mine"] == names(find_domains(["~/mine"], where))


def test_the_home_of_nobody_is_a_folder_that_is_missing(where: SearchPaths) -> None:
    with pytest.raises(
        (DomainNotFoundError, LoadingError), match="~no-such-user/mine: no such folder"
    ):
        find_domains(["~no-such-user/mine"], where)


def test_a_folder_with_a_comma_in_its_name_is_one_folder(where: SearchPaths, root: Path) -> None:
    domain_at(root / "a,b", "ab")

    assert ["ab"] == names(find_domains(["./a,b"], where))


def test_a_domain_answers_to_its_own_name_and_to_its_folders(
    where: SearchPaths, root: Path
) -> None:
    domain_at(root / "domains" / "copy_of_claims", "claims")

    assert find_domains(["claims"], where) == find_domains(["copy_of_claims"], where)
    assert ["claims"] == names(find_domains(["claims"], where))


def test_a_search_path_may_be_a_domain_itself(root: Path) -> None:
    folder = domain_at(root / "lab")
    where = SearchPaths(rootdir=root, invocation_dir=root, sop_paths=(folder,))

    assert ["lab"] == names(find_domains(["all"], where))


def test_a_domain_whose_metadata_is_broken_is_found_by_its_folder(
    where: SearchPaths, root: Path
) -> None:
    (root / "domains" / "parcels" / "metadata.json").write_text("{")

    assert ["parcels"] == names(find_domains(["parcels"], where))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(
            "parcel",
            "parcel: no domain has this name\n"
            "did you mean 'parcels'? known: goods, letters, parcels",
            id="a-near-miss",
        ),
        pytest.param(
            "zzz",
            "zzz: no domain has this name\nknown: goods, letters, parcels",
            id="far-from-all",
        ),
        pytest.param(
            "domains",
            "domains: no domain has this name\nknown: goods, letters, parcels",
            id="a-folder-of-domains-by-name",
        ),
        pytest.param(
            "z*", "z*: no domain's name fits this\nknown: goods, letters, parcels", id="a-glob"
        ),
        pytest.param(
            "", "'': names no domain\nsay a name, a folder such as ./lab, or 'all'", id="empty"
        ),
        pytest.param("parcels::", "parcels::: no task stands after '::'", id="no-task"),
        pytest.param(
            "a b",
            "'a b': not the name of a domain\na domain's name has letters (a to z), digits, '.',"
            " '_' and '-', and starts with a letter or a digit; a folder has a '/'",
            id="hostile",
        ),
        pytest.param(
            "./domains/parcel",
            "{root}/domains/parcel: no such folder\ndid you mean '{root}/domains/parcels'?",
            id="a-folder-nearly",
        ),
        pytest.param("./no/where", "{root}/no/where: no such folder", id="no-folder-at-all"),
        pytest.param(
            "./domains",
            "{root}/domains: not a domain: it has neither metadata.json nor domain.toml\n"
            "there are domains in it: letters, parcels; name one of them",
            id="a-folder-of-domains",
        ),
        pytest.param(
            "./domains/notes",
            "{root}/domains/notes: not a domain: it has neither metadata.json nor domain.toml",
            id="a-folder-of-nothing",
        ),
        pytest.param(
            "./domains/parcels/metadata.json",
            "{root}/domains/parcels/metadata.json: a file, and a domain is a folder\n"
            "give its folder, {root}/domains/parcels",
            id="a-file",
        ),
    ],
)
def test_a_value_that_means_nothing_says_what_there_is(
    where: SearchPaths, root: Path, value: str, expected: str
) -> None:
    assert expected.replace("{root}", str(root)) == error_of(value, where)


def test_a_name_that_is_a_folder_here_is_told_how_to_be_one(where: SearchPaths, root: Path) -> None:
    domain_at(root / "lab")

    assert error_of("lab", where).endswith("\nfor the folder of that name write ./lab")


def test_where_nothing_is_known_the_message_says_where_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "BUNDLED", tmp_path / "gone")
    where = SearchPaths(rootdir=tmp_path, invocation_dir=tmp_path, sop_paths=(Path("domains"),))

    assert error_of("x", where).endswith(
        f"none is known; sop_paths says where they lie\nlooked in {tmp_path / 'domains'}"
    )
    assert error_of("all", where).endswith(
        "'all' means the project's own domains, and sop_paths (domains) has none"
    )
    assert error_of("bundled", where).startswith("bundled: there is no such domain")


def test_a_name_in_two_places_is_an_error_that_lists_both(where: SearchPaths, root: Path) -> None:
    folder = domain_at(root / "domains" / "goods")

    message = error_of("goods", where)

    assert message.startswith("goods: found in 2 places:\n")
    assert f"  {folder} (project)\n" in message
    assert f"  {places.BUNDLED / 'goods'} (bundled)\n" in message
    assert message.endswith("say which, by its path")


def test_two_domains_of_one_name_cannot_share_a_session(where: SearchPaths, root: Path) -> None:
    folder = domain_at(root / "domains" / "old_parcels", "parcels")

    with pytest.raises(LoadingError) as caught:
        find_domains(["./domains/parcels", "./domains/old_parcels"], where)

    assert folder == caught.value.path
    assert "change 'name' in the metadata of one of them" == caught.value.hint


def test_not_found_is_an_error_of_its_own_kind(where: SearchPaths) -> None:
    with pytest.raises(DomainNotFoundError):
        find_domains(["zzz"], where)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        pytest.param("visitor", "", id="a-package"),
        pytest.param("visitor:FOLDER", "FOLDER = __path__[0]", id="a-path"),
        pytest.param("visitor:folder", "def folder():\n    return __path__[0]", id="a-function"),
        pytest.param("visitor:itself", "import visitor as itself", id="a-module"),
    ],
)
def test_an_installed_domain_is_found_by_its_entry_point(
    where: SearchPaths, site: Path, value: str, code: str
) -> None:
    domain_at(site / "visitor", "visitors")
    install(site, "guests", value, code)

    (found,) = find_domains(["guests"], where)

    assert site / "visitor" == found.folder
    assert "visitors" == found.name
    assert Origin.INSTALLED is found.origin
    assert not found.trusted


def test_finding_a_package_does_not_import_it(where: SearchPaths, site: Path) -> None:
    domain_at(site / "visitor", "visitors")
    install(site, "guests", "visitor", "raise RuntimeError('imported')")

    find_domains(["guests"], where)

    assert "visitor" not in sys.modules


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        pytest.param("visitor", "", "the entry point leads to no domain folder", id="no-domain"),
        pytest.param("visitor:A", "A = 3", "the entry point leads to no domain folder", id="three"),
        pytest.param(
            "visitor:gone",
            "",
            "the entry point cannot be read: AttributeError: module 'visitor' has no attribute"
            " 'gone'",
            id="no-attribute",
        ),
        pytest.param(
            "visitor:f",
            "def f():\n    raise OSError('disk')",
            "the entry point cannot be read: OSError: disk",
            id="raises",
        ),
    ],
)
def test_a_broken_package_is_told_when_it_is_asked_for_and_listed_with_its_problem(
    where: SearchPaths, site: Path, value: str, code: str, expected: str
) -> None:
    install(site, "guests", value, code)

    message = error_of("guests", where)
    listed = known_domains(where)

    assert message.startswith(f"guests = {value}: {expected}")
    assert f"guests = {value}: {expected}" == listed[-1].problem
    assert ["letters", "parcels", "goods", "guests"] == names(listed)


def test_an_entry_point_to_a_package_that_is_gone_leads_nowhere(
    where: SearchPaths, site: Path
) -> None:
    install(site, "guests", "visitor")
    (site / "visitor" / "__init__.py").unlink()
    (site / "visitor").rmdir()

    assert "leads to no domain folder" in error_of("guests", where)


def test_an_entry_point_to_a_module_without_a_folder_leads_nowhere(
    where: SearchPaths, site: Path
) -> None:
    install(site, "guests", "json.decoder")

    assert "leads to no domain folder" in error_of("guests", where)


@pytest.mark.usefixtures("where")
def test_known_domains_are_each_listed_once(root: Path) -> None:
    twice = SearchPaths(
        rootdir=root, invocation_dir=root, sop_paths=(Path("domains"), root / "domains")
    )

    assert ["letters", "parcels", "goods"] == names(known_domains(twice))


def test_code_under_rootdir_and_what_is_bundled_may_run(where: SearchPaths) -> None:
    assert all(one.trusted for one in find_domains(["*"], where))


def test_code_outside_of_rootdir_may_run_only_when_trusted_or_named_by_its_path(
    tmp_path: Path, root: Path
) -> None:
    domain_at(tmp_path / "elsewhere" / "far")
    paths = (tmp_path / "elsewhere",)
    careful = SearchPaths(rootdir=root, invocation_dir=root, sop_paths=paths)
    trusting = SearchPaths(rootdir=root, invocation_dir=root, sop_paths=paths, trusted=paths)

    assert not find_domains(["far"], careful)[0].trusted
    assert find_domains(["far"], trusting)[0].trusted
    assert find_domains(["../elsewhere/far"], careful)[0].trusted


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(["far", "../elsewhere/far"], id="name-first"),
        pytest.param(["../elsewhere/far", "far"], id="path-first"),
        pytest.param(["far::a", "../elsewhere/far::b"], id="two-tasks"),
    ],
)
def test_a_domain_named_by_its_path_too_is_trusted(
    tmp_path: Path, root: Path, values: list[str]
) -> None:
    domain_at(tmp_path / "elsewhere" / "far")
    root.mkdir()
    where = SearchPaths(rootdir=root, invocation_dir=root, sop_paths=(tmp_path / "elsewhere",))

    assert all(one.trusted for one in find_domains(values, where))


def test_a_link_out_of_the_project_leads_to_code_that_may_not_run(
    where: SearchPaths, root: Path, tmp_path: Path
) -> None:
    far = domain_at(tmp_path / "elsewhere" / "far")
    (root / "domains" / "far").symlink_to(far, target_is_directory=True)

    assert not find_domains(["far"], where)[0].trusted


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        pytest.param("site", False, id="in-an-environment-inside-the-project"),
        pytest.param("elsewhere", True, id="in-the-projects-own-source"),
    ],
)
def test_an_installed_domain_under_rootdir_is_trusted_unless_it_lies_in_the_environment(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, expected: bool
) -> None:
    domain_at(site / "visitor", "visitors")
    install(site, "guests", "visitor")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / prefix))
    where = SearchPaths(rootdir=tmp_path, invocation_dir=tmp_path)

    assert expected is find_domains(["guests"], where)[0].trusted


# Folders that cannot be used: each says why, and none stands in the way of another.

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
