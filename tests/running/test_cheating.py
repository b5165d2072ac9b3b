"""The agent cannot cheat through the public surface of what it is given.

The walk follows attributes, `vars()`, closures, defaults, bound objects, containers, `repr` and
the exceptions with their frames, as a curious agent or a framework that prints its tools would.
It does not follow module globals, nor ask the garbage collector: nothing in Python can hide
from those.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import types
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_sopbench.errors import ToolError

OURS = "_running"


def steps(thing: object) -> Iterator[object]:
    for name in dir(thing):
        if name in {"__globals__", "__builtins__", "f_globals", "f_builtins", "f_back", "gi_frame"}:
            continue
        try:
            yield getattr(thing, name)
        except Exception:  # noqa: BLE001, S112 - a property that refuses tells nothing
            continue
    if isinstance(thing, dict):
        yield from thing.keys()
        yield from thing.values()
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from thing
    elif isinstance(thing, types.CellType):
        yield thing.cell_contents


def reached(*roots: object) -> Iterator[object]:
    pending, seen = list(roots), set[int]()
    kept = []
    while pending:
        thing = pending.pop()
        if id(thing) in seen or isinstance(thing, type | types.ModuleType):
            continue
        seen.add(id(thing))
        kept.append(thing)
        yield thing
        if isinstance(thing, str | bytes | int | float | None):
            continue
        if isinstance(thing, types.FrameType) and OURS not in thing.f_code.co_filename:
            continue
        if isinstance(thing, types.BuiltinMethodType | types.MethodWrapperType):
            yield repr(thing)
            continue
        pending += steps(thing)
        yield repr(thing)


def secrets_in(values: Iterator[object], secrets: dict[str, str]) -> set[str]:
    texts = [value for value in values if isinstance(value, str)]
    return {name for name, secret in secrets.items() if any(secret in text for text in texts)}


def caught(tools: Any, name: str, **arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as info:
        tools.call(name, **arguments)
    return info.value


def surface(tools: Any) -> list[object]:
    functions = [
        function
        for made in (tools.functions, tools.afunctions)
        for on_error in ("return", "raise")
        for function in made(on_error=on_error)
    ]
    errors: list[object] = [
        caught(tools, "nothing"),
        caught(tools, "get_score", parcel_id="PX2"),
        caught(tools, "send_letter"),
    ]
    for one in functions:
        try:
            result = one("nobody")
            errors.append(
                asyncio.run(result) if isinstance(result, types.CoroutineType) else result
            )
        except ToolError as error:
            errors.append(error)
    bound = [getattr(tools, name) for name in dir(tools)]
    return [tools, *functions, *bound, *errors]


MANAGER = """
class ParcelManager:
    def __init__(self, row):
        self.row = row
    def process_tool_call(self, name, arguments):
        if name == 'get_score':
            raise KeyError('no such parcel')
        return 1 / len(arguments)
"""


@pytest.mark.parametrize("served_by", ["look-up", "manager"])
def test_no_secret_is_reached_from_the_tools(
    bench: Any, secrets: dict[str, str], served_by: str
) -> None:
    """Rows, expected answers, results not asked for and the data file stay out of reach."""
    domain = (
        bench.coded(MANAGER)
        if served_by == "manager"
        else bench.domain(
            lookups={
                "get_score": bench.domain().lookups["get_score"],
                "send_letter": bench.lookup(returns=("note", "missing")).lookups["get_score"],
            }
        )
    )
    toolbox = bench.toolbox(domain)
    secrets = {**secrets, "data file": str(domain.data_file)}

    found = secrets_in(reached(*surface(toolbox.tools)), secrets)

    assert set() == found


def test_the_walk_would_find_a_secret(bench: Any, secrets: dict[str, str]) -> None:
    """Else the test above could not fail."""
    toolbox = bench.toolbox()

    def leaking(name: str) -> object:
        return toolbox, name

    assert "result" in secrets_in(reached(toolbox), secrets)
    assert "result" in secrets_in(reached(leaking), secrets)


def test_the_tools_have_no_attributes_of_their_own(bench: Any) -> None:
    tools = bench.toolbox().tools

    with pytest.raises(TypeError):
        vars(tools)
    with pytest.raises(AttributeError):
        tools.secret = 1

    assert "<Tools: get_score, send_letter>" == repr(tools)


def test_a_copy_is_the_toolbox_of_the_same_run(bench: Any) -> None:
    tools = bench.toolbox().tools

    assert tools is copy.copy(tools)
    assert tools is copy.deepcopy({"deps": tools})["deps"]


def test_tools_cannot_be_pickled(bench: Any) -> None:
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(bench.toolbox().tools)


def test_tools_that_an_agent_makes_itself_belong_to_no_run(bench: Any) -> None:
    made: Any = type(bench.toolbox().tools)()

    assert "belong to no run" in made.execute_tool("get_score", {})["error"]
    assert "<Tools>" == repr(made)
    with pytest.raises(ToolError, match="belong to no run"):
        made.openai()
    with pytest.raises(ToolError, match="belong to no run"):
        asyncio.run(made.acall("get_score"))


def test_the_registry_forgets_a_run_with_its_tools(bench: Any) -> None:
    """Else a session of many runs would keep every row."""
    toolbox = bench.toolbox()
    tools = toolbox.tools
    seen = weakref.ref(tools), weakref.ref(toolbox)

    del toolbox, tools
    gc.collect()

    assert [None, None] == [one() for one in seen]


def test_the_end_of_a_run_lets_its_row_go(bench: Any, secrets: dict[str, str]) -> None:
    toolbox = bench.toolbox()

    toolbox.close()

    assert set() == secrets_in(reached(toolbox._row, toolbox._inputs), secrets)
