"""Every shape of agent is called with what it asks for by name, or refused before the first run."""

from __future__ import annotations

import functools
import importlib.metadata
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench import Domain, OutputField
from pytest_sopbench._core.model.task import FieldType
from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench._running.agents import spec as agent_spec
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.runner import run_task
from pytest_sopbench.errors import AgentSpecError, LoadingError
from tests.builders.running import resolve_agent

# ruff: noqa: ARG002, ARG005 - the parameters of an agent are what is tested


Call = Callable[..., Any]


@pytest.fixture
def call(bench: Any) -> Call:
    def make(agent: object, /, **arguments: str) -> Any:
        tools = bench.toolbox().tools
        return AgentCaller(agent, arguments).call(bench.domain(), bench.task(), tools)

    return make


def by_name(inputs: Any, sop: str) -> Any:
    return sop, inputs["parcel_id"]


class Methods:
    @staticmethod
    def static(task_id: str) -> str:
        return task_id

    @classmethod
    def of_class(cls, task_id: str) -> str:
        return task_id

    def bound(self, task_id: str) -> str:
        return task_id


class Execute:
    def execute(self, sop: str, task: Any, tools: Any) -> Any:
        return task["parcel_id"], tools.execute_tool("get_score", {"parcel_id": "PX1"})


class Everything:
    def __call__(self, inputs: Any) -> str:
        return "called"

    def run(self, inputs: Any) -> str:
        return "run"

    def execute(self, inputs: Any) -> str:
        return "executed"


class Runs:
    def __call__(self, inputs: Any) -> str:
        return "called"

    def run(self, inputs: Any) -> str:
        return "run"


class Called:
    def __call__(self, inputs: Any) -> str:
        return "called"


class CalledByClass:
    @staticmethod
    def run(task_id: str) -> str:
        return task_id


class RunsByClassMethod:
    @classmethod
    def run(cls, task_id: str) -> str:
        return f"{cls.__name__} {task_id}"


def test_parameters_are_filled_by_name(call: Call) -> None:
    assert ("Put the parcel on its shelf.", "PX1") == call(by_name)


def test_every_promised_parameter_is_filled(call: Call, bench: Any) -> None:
    def agent(sop: Any, inputs: Any, task: Any, tools: Any, task_id: Any, domain: Any) -> Any:
        return sop, inputs, task, tools, task_id, domain

    sop, inputs, task, tools, task_id, domain = call(agent)

    assert bench.task().inputs == inputs
    assert task is inputs
    assert ("Put the parcel on its shelf.", "PX1", "parcels") == (sop, task_id, domain)
    assert ("get_score", "send_letter") == tools.names


def test_output_fields_tell_allowed_values_or_the_type(bench: Any) -> None:
    fields = (*bench.domain().fields, OutputField(name="count", type=FieldType.INTEGER))
    caller = AgentCaller(lambda output_fields: output_fields)

    told = caller.call(bench.domain(fields=fields), bench.task(), bench.toolbox().tools)

    assert {"shelf": ["A", "B"], "count": "integer"} == told


def test_inputs_are_a_fresh_copy_for_each_run(bench: Any) -> None:
    task = bench.task(inputs={"parts": ["a"]})
    caller = AgentCaller(lambda inputs: inputs)
    tools = bench.toolbox().tools

    first: Any = caller.call(bench.domain(), task, tools)
    first["parts"].append("b")

    assert {"parts": ["a"]} == caller.call(bench.domain(), task, tools) == task.inputs


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        pytest.param(lambda task_id: task_id, "PX1", id="lambda"),
        pytest.param(lambda task_id, /: task_id, "PX1", id="positional-only"),
        pytest.param(Methods().bound, "PX1", id="bound-method"),
        pytest.param(Methods.static, "PX1", id="static-method"),
        pytest.param(Methods.of_class, "PX1", id="class-method"),
        pytest.param(functools.partial(lambda a, task_id: a + task_id, "p"), "pPX1", id="partial"),
        pytest.param(
            functools.partial(lambda task_id, *, a: a + task_id, a="k"),
            "kPX1",
            id="keyword-partial",
        ),
        pytest.param(Everything(), "executed", id="execute-first"),
        pytest.param(Everything, "executed", id="class-execute-first"),
        pytest.param(Runs(), "run", id="run-second"),
        pytest.param(Runs, "run", id="class-run-second"),
        pytest.param(Called(), "called", id="call-last"),
        pytest.param(Called, "called", id="class-call-last"),
        pytest.param(Execute(), ("PX1", {"score": 4}), id="sop-bench-instance"),
        pytest.param(Execute, ("PX1", {"score": 4}), id="sop-bench-class"),
        pytest.param(CalledByClass, "PX1", id="class-with-static-method"),
        pytest.param(RunsByClassMethod, "RunsByClassMethod PX1", id="class-with-class-method"),
    ],
)
def test_each_shape_is_called(call: Call, agent: object, expected: object) -> None:
    assert expected == call(agent)


def test_a_wrapped_function_is_filled_as_the_one_it_wraps(call: Call) -> None:
    @functools.wraps(by_name)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return by_name(*args, **kwargs)

    assert "PX1" == call(wrapper)[1]


def test_a_class_is_made_once_per_run(bench: Any) -> None:
    caller = AgentCaller(type("Agent", (), {"run": lambda self: self}))
    tools = bench.toolbox().tools

    first, second = (caller.call(bench.domain(), bench.task(), tools) for _ in range(2))

    assert first is not second


def test_parameters_with_defaults_are_left_alone(call: Call) -> None:
    assert ("default", 1) == call(lambda sop="default", x=1: (sop, x))


def test_an_agent_argument_fills_a_parameter_with_a_default(call: Call) -> None:
    assert "gpt" == call(lambda inputs, model="none": model, model="gpt")


def test_an_agent_argument_reaches_the_constructor_and_the_method(call: Call) -> None:
    class Agent:
        def __init__(self, model: str, depth: int = 2) -> None:
            self.told = (model, depth)

        def run(self, inputs: Any, model: str, style: str) -> Any:
            return self.told, model, style

    assert (("m", 2), "m", "terse") == call(Agent, model="m", style="terse")


def test_a_positional_default_before_an_agent_argument_is_kept(call: Call) -> None:
    def agent(depth: int = 3, model: str = "none", other: int = 4, /) -> Any:
        return depth, model, other

    assert (3, "gpt", 4) == call(agent, model="gpt")


def test_var_arguments_receive_nothing(call: Call) -> None:
    assert ((), {}) == call(lambda *args, **kwargs: (args, kwargs))


def test_a_late_value_is_read_at_each_run(bench: Any) -> None:
    environment = {"KEY": "first-secret"}
    caller = AgentCaller(lambda key: key, {"key": "env:KEY"}, environment=environment)
    tools = bench.toolbox().tools

    first = caller.call(bench.domain(), bench.task(), tools)
    environment["KEY"] = "two"
    second = caller.call(bench.domain(), bench.task(), tools)

    assert ("first-secret", "two") == (first, second)
    assert "first-secret" not in repr(vars(caller))


async def an_async_agent(inputs: Any) -> None: ...


class AsyncRun:
    async def run(self) -> None: ...


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(an_async_agent, id="function"),
        pytest.param(functools.partial(an_async_agent), id="partial"),
        pytest.param(AsyncRun, id="class"),
        pytest.param(AsyncRun().run, id="bound-method"),
        pytest.param(AsyncRun(), id="instance"),
    ],
)
def test_an_async_agent_returns_an_awaitable(call: Call, agent: object) -> None:
    value = call(agent)

    assert inspect.isawaitable(value)
    value.close()


class NeedsArgument:
    def __init__(self, model: str) -> None: ...

    def run(self) -> None: ...


class Nothing:
    pass


@pytest.mark.parametrize(
    ("agent", "arguments", "said"),
    [
        pytest.param(lambda prompt: 1, {}, "needs the parameter 'prompt'", id="unfillable"),
        pytest.param(NeedsArgument, {}, r"NeedsArgument\(\) needs .* 'model'", id="constructor"),
        pytest.param(by_name, {"modle": "x"}, "'modle': the agent has no parameter", id="unknown"),
        pytest.param(lambda **k: 1, {"model": "x"}, "has no parameter of that name", id="kwargs"),
        pytest.param(by_name, {"sop": "x"}, "'sop': every run fills", id="reserved"),
        pytest.param(
            lambda key: key,
            {"key": "env:NOT_SET"},
            "the environment has no variable 'NOT_SET'",
            id="missing-variable",
        ),
        pytest.param(3, {}, "int object is not an agent", id="number"),
        pytest.param(Nothing, {}, "class Nothing is not an agent", id="class-without-method"),
        pytest.param(Nothing(), {}, "Nothing object is not an agent", id="object-without-method"),
        pytest.param(dict.fromkeys, {}, "cannot be read|needs the parameter", id="built-in"),
        pytest.param(max, {}, "the parameters of max cannot be read", id="no-signature"),
    ],
)
def test_what_cannot_be_called_as_an_agent_is_refused_at_set_up(
    agent: object, arguments: dict[str, str], said: str
) -> None:
    with pytest.raises(AgentSpecError, match=said):
        AgentCaller(agent, arguments, environment={})


def test_an_unknown_argument_is_told_with_those_that_there_are() -> None:
    def agent(inputs: Any, model: str = "m", seed: int = 0) -> None: ...

    with pytest.raises(AgentSpecError, match="of that name\nit may be given model, seed"):
        AgentCaller(agent, {"mode": "x"})


# What `--agent` names is found, or the message says what to correct.

# ruff: noqa: ARG005 - a policy takes what it is given


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


def test_the_reference_policy_decides_for_its_domain(bench: Any) -> None:
    path = bench.folder / "policy.py"
    path.write_text(POLICY)
    domain = bench.domain(policy_file=path)

    agent = resolve_agent("reference-policy", domains=[domain], path=bench.folder)
    answer = AgentCaller(agent).call(domain, bench.task(), bench.toolbox().tools)

    assert {"shelf": {"score": 4}} == answer


def test_every_selected_domain_needs_a_policy(bench: Any) -> None:
    with pytest.raises(LoadingError, match="no reference policy"):
        resolve_agent("reference-policy", domains=[bench.domain()], path=bench.folder)


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
        pytest.param(
            "localhost:8080/run", "no module 'localhost'", "write http://localhost:8080/run"
        ),
        pytest.param("127.0.0.1:80", "no module '127'", "write http://127.0.0.1:80 if it"),
        pytest.param("node agent.mjs", "no agent is registered", "write exec:node agent.mjs if"),
        pytest.param("./agent.sh", "no agent is registered", "write exec:./agent.sh if"),
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


# An agent that does what a file says, task by task.

CALL = {"name": "get_score", "arguments": {"parcel_id": "PX1"}}
LINE = {"task": "PX1", "calls": [CALL], "answer": {"shelf": "A"}}


def scripted(bench: Any, text: str) -> Any:
    (bench.folder / "script.jsonl").write_text(text, encoding="utf-8")
    domain = bench.domain()
    return resolve_agent("scripted:script.jsonl", path=bench.folder, domains=[domain])


def traced(bench: Any, text: str, **task: Any) -> Any:
    caller, toolbox = AgentCaller(scripted(bench, text)), bench.toolbox()
    return run_task(
        caller,
        bench.domain(),
        bench.task(**task),
        toolbox,
        clock=lambda: 0.0,
        unavailable=lambda _: False,
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(LINE), id="a-line"),
        pytest.param(json.dumps([LINE]), id="a-list"),
        pytest.param(json.dumps([LINE], indent=2), id="a-list-over-lines"),
        pytest.param(json.dumps({**LINE, "domain": "parcels"}) + "\n\n", id="with-its-domain"),
        pytest.param(
            json.dumps({**LINE, "domain": "others", "answer": None}) + "\n" + json.dumps(LINE),
            id="two-domains",
        ),
    ],
)
def test_it_calls_and_answers_as_the_file_says(bench: Any, text: str) -> None:
    trace = traced(bench, text)

    assert [("get_score", {"parcel_id": "PX1"}, {"score": 4})] == [
        (call.name, call.arguments, call.result) for call in trace.calls
    ]
    assert {"shelf": "A"} == trace.returned.mapping


def test_a_call_that_fails_is_recorded_and_the_script_goes_on(bench: Any) -> None:
    calls = [{"name": "no_such_tool"}, {"name": "get_score", "arguments": "prose"}, CALL]

    trace = traced(bench, json.dumps({**LINE, "calls": calls}))

    assert [True, True, False] == [call.error is not None for call in trace.calls]
    assert {"shelf": "A"} == trace.returned.mapping


def test_it_raises_and_tells_usage_as_the_file_says(bench: Any) -> None:
    text = json.dumps({"task": "PX1", "raises": "out of ideas", "usage": {"input_tokens": 3}})

    trace = traced(bench, text)

    assert (Ending.RAISED, "out of ideas", 3) == (
        trace.ending,
        trace.problem.message,
        trace.usage.input_tokens,
    )


def test_a_task_that_the_file_does_not_name_is_an_error_of_its_run(bench: Any) -> None:
    trace = traced(bench, json.dumps({**LINE, "task": "PX2"}))

    assert Ending.RAISED is trace.ending
    assert "script.jsonl: it says nothing of task 'PX1' of parcels" in trace.problem.message
    assert () == trace.calls


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        pytest.param("", 1, "it is empty", id="empty"),
        pytest.param("[]", 1, "it is empty", id="empty-list"),
        pytest.param('{"task": "PX1",}', 1, "no JSON", id="no-json"),
        pytest.param(json.dumps(LINE) + "\nprose", 2, "no JSON", id="prose-behind"),
        pytest.param("[" + json.dumps(LINE), 1, "the list does not end", id="open-list"),
        pytest.param("[" + json.dumps(LINE) + "] x", 1, "the list does not end", id="after-it"),
        pytest.param('{"task": "PX1", "answer": NaN}', 1, "NaN", id="nan"),
        pytest.param("7", 1, "no object", id="number"),
        pytest.param('\n{"answer": {}}', 2, "'task' is missing", id="no-task"),
        pytest.param('{"task": 7, "answer": {}}', 1, "'task' is no text", id="task-number"),
        pytest.param('{"task": "PX1"}', 1, "neither 'answer' nor 'raises'", id="no-answer"),
        pytest.param('{"task": "PX1", "anser": 1}', 1, "unknown key 'anser'", id="slip"),
        pytest.param(json.dumps({**LINE, "calls": {}}), 1, "'calls' is no list", id="calls-object"),
        pytest.param(json.dumps({**LINE, "calls": ["x"]}), 1, "a call is no", id="call-text"),
        pytest.param(json.dumps({**LINE, "calls": [{}]}), 1, "has no 'name'", id="call-nameless"),
        pytest.param(
            json.dumps({**LINE, "calls": [{"name": "a", "args": {}}]}),
            1,
            "unknown key 'args'",
            id="call-slip",
        ),
        pytest.param(
            f"{json.dumps(LINE)}\n{json.dumps(LINE)}", 2, "stands in line 1 already", id="twice"
        ),
        pytest.param(
            json.dumps({**LINE, "task": "PX3"}), 1, "there is no task 'PX3'", id="unknown-task"
        ),
        pytest.param(
            f"[{json.dumps(LINE)},\n\n{json.dumps({**LINE, 'task': 'PX3'})}]",
            3,
            "there is no task 'PX3'",
            id="line-in-a-list",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(bench: Any, text: str, line: int, said: str) -> None:
    with pytest.raises(AgentSpecError) as caught:
        scripted(bench, text)

    assert f"script.jsonl, line {line}: " in str(caught.value)
    assert said in str(caught.value)
    assert caught.value.hint


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentSpecError, match=r"none\.jsonl: No such file"):
        resolve_agent("scripted:none.jsonl", path=tmp_path)


# `replayed:FILE` returns what was recorded of each task, and refuses a file that is not whole.

TWO = [{"id": "a", "output": '{"x": 1}'}, {"id": "b", "model_response": None}]


def resolved(folder: Path, text: str) -> Any:
    (folder / "out.jsonl").write_text(text, encoding="utf-8")
    domain = Domain(
        name="desk",
        folder=folder,
        data_file=folder,
        sop="s",
        tool_specs=(),
        fields=(),
        tasks=(),
        task_ids=("a", "b"),
        input_columns=(),
    )
    return resolve_agent("replayed:out.jsonl", path=folder, domains=[domain])


def lines(*values: object) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def test_a_task_is_given_what_was_recorded_of_it(tmp_path: Path) -> None:
    agent = resolved(tmp_path, lines(*TWO))

    assert '{"x": 1}' == agent(tools=None, task_id="a", domain="desk")
    assert agent(tools=None, task_id="b", domain="desk") is None


def test_a_line_of_a_domain_goes_before_one_of_all(tmp_path: Path) -> None:
    agent = resolved(tmp_path, lines(*TWO, {"id": "a", "domain": "desk", "output": "mine"}))

    assert "mine" == agent(tools=None, task_id="a", domain="desk")


def test_a_number_may_be_an_id_and_other_keys_may_stand_beside(tmp_path: Path) -> None:
    agent = resolved(tmp_path, lines(*TWO, {"id": "a", "domain": "x", "output": 1, "score": 0.2}))

    assert '{"x": 1}' == agent(tools=None, task_id="a", domain="desk")


@pytest.mark.parametrize("failure", [{"error": "overloaded"}, {"success": False}])
def test_a_line_that_says_that_the_agent_failed_returns_that(
    tmp_path: Path, failure: dict[str, Any]
) -> None:
    agent = resolved(tmp_path, lines({"id": "a", "output": "x"} | failure, TWO[1]))

    assert {"output": "x"} | failure == agent(tools=None, task_id="a", domain="desk")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "line 1: it is empty", id="empty"),
        pytest.param("{\n", "line 1: no JSON", id="no JSON"),
        pytest.param("[]\n", "line 1: no object", id="a list"),
        pytest.param('{"id": "a", "output": "x", "output": "y"}\n', "'output'", id="a key twice"),
        pytest.param(lines({"output": "x"}), "'id' is missing", id="no id"),
        pytest.param(lines({"id": True, "output": "x"}), "'id' is missing", id="no text"),
        pytest.param(lines({"id": "a"}), "neither 'output' nor 'model_response'", id="no output"),
        pytest.param(
            lines({"id": "a", "output": "x", "model_response": "y"}), "both 'output'", id="two"
        ),
        pytest.param(lines(*TWO, TWO[0]), "line 3: the id 'a' stands in line 1", id="twice"),
        pytest.param(
            lines(*TWO, {"id": "c", "output": "x"}), "line 3: there is no task 'c'", id="stranger"
        ),
        pytest.param(lines(TWO[0]), "no output of b, of 2 tasks of desk", id="one task is missing"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(AgentSpecError) as caught:
        resolved(tmp_path, text)

    assert problem in str(caught.value)
    assert "out.jsonl" in str(caught.value)


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(AgentSpecError, match=r"nothing\.jsonl"):
        resolve_agent("replayed:nothing.jsonl", path=tmp_path)
