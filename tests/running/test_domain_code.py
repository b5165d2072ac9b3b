"""A domain's own code: found, imported apart from all other code, and kept in check."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._running.tools.domain_code import load_manager_factory, load_policy
from pytest_sopbench.errors import LoadingError, ToolError, ToolSpecError

MANAGER = "class ParcelManager:\n    def process_tool_call(self, name, arguments):\n        "


def call(bench: Any, source: str, name: str = "send_letter", **arguments: Any) -> Any:
    return bench.toolbox(bench.coded(source)).tools.call(name, **arguments)


def test_a_manager_serves_under_the_name_that_was_called(bench: Any) -> None:
    result = call(bench, MANAGER + "return {name: arguments}", to="Ada")

    assert {"send_letter": {"to": "Ada"}} == result


def test_a_look_up_tool_stands_before_the_manager(bench: Any) -> None:
    domain = bench.coded(MANAGER + "return 'coded'", lookups=bench.domain().lookups)

    assert {"score": 4} == bench.toolbox(domain).tools.call("get_score", parcel_id="PX1")


def test_each_run_has_its_own_manager(bench: Any) -> None:
    domain = bench.coded(
        "class ParcelManager:\n"
        "    def __init__(self): self.calls = 0\n"
        "    def process_tool_call(self, name, arguments):\n"
        "        self.calls += 1\n"
        "        return self.calls\n"
    )
    factory = load_manager_factory(domain)

    first, second = factory(bench.task()), factory(bench.task())
    first.process_tool_call("send_letter", {})

    assert 1 == second.process_tool_call("send_letter", {})


def test_row_and_folder_are_filled_without_the_expected_answer(bench: Any) -> None:
    source = (
        "class ParcelManager:\n"
        "    def __init__(self, domain_dir, row=None, other=3):\n"
        "        self.told = {'row': row, 'dir': str(domain_dir), 'other': other}\n"
        "    def process_tool_call(self, name, arguments):\n"
        "        return self.told\n"
    )

    told = call(bench, source)

    task = bench.task()
    assert {**task.inputs, **task.results} == told["row"]
    assert str(bench.folder) == told["dir"]
    assert 3 == told["other"]


def test_a_manager_cannot_change_the_row_of_another_run(bench: Any) -> None:
    source = (
        "class ParcelManager:\n"
        "    def __init__(self, row): self.row = row\n"
        "    def process_tool_call(self, name, arguments):\n"
        "        self.row['parts'].append('c')\n"
        "        return self.row['parts']\n"
    )
    task = bench.task()
    domain = bench.coded(source)

    served = [bench.toolbox(domain, task=task).tools.call("send_letter") for _ in range(2)]

    assert [["a", "b", "c"]] * 2 == served


def test_a_manager_cannot_rewrite_the_record(bench: Any) -> None:
    toolbox = bench.toolbox(
        bench.coded(
            "class ParcelManager:\n"
            "    kept = []\n"
            "    def process_tool_call(self, name, arguments):\n"
            "        arguments['to'] = 'changed'\n"
            "        self.kept.append(name)\n"
            "        return self.kept\n"
        )
    )

    for _ in range(2):
        toolbox.tools.call("send_letter", to="Ada")

    assert [{"to": "Ada"}] * 2 == [one.arguments for one in toolbox.calls]
    assert ["send_letter"] == toolbox.calls[0].result


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        pytest.param("raise ValueError('no such parcel')", "no such parcel", id="refusal"),
        pytest.param("raise KeyError('PX1')", "KeyError: 'PX1'", id="fault"),
        pytest.param("raise ValueError", "ValueError", id="no-text"),
        pytest.param("raise SystemExit(3)", "SystemExit: 3", id="exit"),
        pytest.param("assert False, 'odd'", "AssertionError: odd", id="assertion"),
    ],
)
def test_whatever_a_manager_raises_is_a_tool_error_on_record(
    bench: Any, statement: str, said: str
) -> None:
    toolbox = bench.toolbox(bench.coded(MANAGER + statement))

    with pytest.raises(ToolError) as caught:
        toolbox.tools.call("send_letter")

    assert said == str(caught.value) == toolbox.calls[0].error
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert not toolbox.calls[0].bad


def test_a_manager_may_raise_our_own_error(bench: Any) -> None:
    source = "from pytest_sopbench.errors import ToolArgumentError\n" + MANAGER

    with pytest.raises(ToolError, match=r"^not that one$"):
        call(bench, source + "raise ToolArgumentError('not that one')")


def test_an_exception_without_readable_text_is_still_told(bench: Any) -> None:
    source = "class Odd(Exception):\n    def __str__(self): raise RuntimeError\n" + MANAGER

    with pytest.raises(ToolError, match="Odd: <its text cannot be read: RuntimeError>"):
        call(bench, source + "raise Odd")


def test_ctrl_c_inside_a_manager_is_no_tool_error(bench: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        call(bench, MANAGER + "raise KeyboardInterrupt")


def test_what_a_manager_prints_goes_to_the_runs_output(
    bench: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    source = (
        "import sys\n"
        "print('importing')\n"
        "class ParcelManager:\n"
        "    def __init__(self): print('making')\n"
        "    def process_tool_call(self, name, arguments):\n"
        "        print('serving', name); print('oh', file=sys.stderr)\n"
    )
    toolbox = bench.toolbox(bench.coded(source))

    toolbox.tools.call("send_letter")

    assert "making\nserving send_letter\noh\n" == toolbox.output.text
    assert ("", "") == capfd.readouterr()


def test_a_managers_result_is_said_in_plain_words(bench: Any) -> None:
    assert {"when": "2026-01-02", "where": "/x"} == call(
        bench,
        "import datetime, pathlib\n"
        + MANAGER
        + "return {'when': datetime.date(2026, 1, 2), 'where': pathlib.PurePosixPath('/x')}",
    )


def test_an_imported_manager_is_not_the_domains_own(bench: Any) -> None:
    source = "from logging import Manager as LogManager, Manager\n" + MANAGER + "return 'own'"

    assert "own" == call(bench, source)


def test_a_base_beside_its_heir_is_no_rival(bench: Any) -> None:
    source = MANAGER + "return self.word\nclass PostManager(ParcelManager):\n    word = 'heir'\n"

    assert "heir" == call(bench, source)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param("", "no class defined here", id="none"),
        pytest.param("class ParcelManager: pass", "no class defined here", id="no-method"),
        pytest.param(
            MANAGER + "...\nclass B" + MANAGER[6:] + "...",
            "more than one manager is defined here: BParcelManager, ParcelManager",
            id="two",
        ),
        pytest.param("x = 1\nx +", "row 2: it cannot be imported: SyntaxError", id="syntax"),
        pytest.param("\n\nx = y", "row 3: it cannot be imported: NameError", id="name"),
        pytest.param("raise SystemExit", "row 1: it cannot be imported: SystemExit", id="exit"),
        pytest.param(
            MANAGER + "...\n    def __init__(self, db): ...",
            r"ParcelManager\(\) needs 'db'",
            id="unknown-parameter",
        ),
        pytest.param(
            "class Meta(type):\n    def __getattribute__(kind, name): raise OSError(name)\n"
            "class ParcelManager(metaclass=Meta):\n    def process_tool_call(*_): ...",
            "row 2: it cannot be looked at: OSError: __module__",
            id="hostile-class",
        ),
        pytest.param(
            "class Meta(type):\n    def __getattribute__(kind, name): raise OSError(name)\n"
            "class Odd(Exception, metaclass=Meta): ...\nraise Odd('no data')",
            "row 4: it cannot be imported: Odd: no data",
            id="hostile-exception",
        ),
    ],
)
def test_a_tools_file_that_cannot_be_used_is_a_fault_of_the_set_up(
    bench: Any, source: str, said: str
) -> None:
    with pytest.raises(ToolSpecError, match=said):
        load_manager_factory(bench.coded(source))


def test_a_manager_that_cannot_be_made_is_a_fault_of_the_set_up(bench: Any) -> None:
    source = MANAGER + "...\n    def __init__(self): raise OSError('no data')"

    with pytest.raises(
        ToolSpecError, match=r"row 4.*cannot be made for task PX1: OSError: no data"
    ):
        bench.toolbox(bench.coded(source))


def test_ctrl_c_while_code_is_imported_or_made_stops_everything(bench: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_manager_factory(bench.coded("raise KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        bench.toolbox(bench.coded(MANAGER + "...\n    def __init__(self): raise KeyboardInterrupt"))


def test_importing_leaves_no_trace_in_the_process_or_the_folder(bench: Any) -> None:
    (bench.folder / "shelves.py").write_text("ROOM = 'cold'\n")
    domain = bench.coded("import shelves\n" + MANAGER + "return shelves.ROOM")
    path, modules = list(sys.path), set(sys.modules)

    result = bench.toolbox(domain).tools.call("send_letter")

    assert "cold" == result
    assert path == sys.path
    new = sys.modules.keys() - modules
    assert all(name.startswith("_sopbench_domain_") for name in new)
    assert [] == list(bench.folder.glob("__pycache__/tools*"))


def test_two_domains_with_files_of_one_name_stay_apart(tmp_path: Path, bench: Any) -> None:
    results = []
    for word in ("cold", "warm"):
        bench.folder = tmp_path / word
        bench.folder.mkdir()
        (bench.folder / "shelves.py").write_text(f"ROOM = {word!r}\n")
        domain = bench.coded("import shelves\n" + MANAGER + "return shelves.ROOM")
        results.append(bench.toolbox(domain).tools.call("send_letter"))

    assert ["cold", "warm"] == results


def test_code_may_clear_the_path_by_itself(bench: Any) -> None:
    source = "import sys\nsys.path.remove(__file__.rpartition('/')[0])\n" + MANAGER + "return 1"

    assert 1 == call(bench, source)


def test_code_may_define_dataclasses(bench: Any) -> None:
    source = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Parcel:\n    id: str\n" + MANAGER + "return Parcel('PX1')"
    )

    assert {"id": "PX1"} == call(bench, source)


def test_a_domain_without_code_has_no_manager_and_no_policy(bench: Any) -> None:
    with pytest.raises(ToolSpecError, match=r"has no tools\.py"):
        load_manager_factory(bench.domain())
    with pytest.raises(LoadingError, match=r"has no policy\.py"):
        load_policy(bench.domain())


def test_a_policy_decides_over_inputs_and_tools(bench: Any) -> None:
    path = bench.folder / "policy.py"
    path.write_text(
        "def decide(inputs, call):\n    return {'shelf': call('get_score', **inputs)}\n"
    )

    decide = load_policy(bench.domain(policy_file=path))

    assert {"shelf": ("get_score", {"a": 1})} == decide({"a": 1}, lambda name, **a: (name, a))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param("decide = 3", "defines no function 'decide'", id="no-function"),
        pytest.param(
            "def __getattr__(name): raise OSError(name)",
            "row 1: it cannot be looked at: OSError: decide",
            id="hostile-module",
        ),
        pytest.param("import nothing_of_that_name", "row 1: .*ModuleNotFoundError", id="import"),
    ],
)
def test_a_policy_that_cannot_be_used_is_told(bench: Any, source: str, said: str) -> None:
    path = bench.folder / "policy.py"
    path.write_text(source)

    with pytest.raises(LoadingError, match=said):
        load_policy(bench.domain(policy_file=path))
