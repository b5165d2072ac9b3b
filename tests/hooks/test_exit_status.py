"""The table of exit statuses: what each situation means in CI, in one process and in two workers.

Domain `lab` has six tasks, two of each grade, so `always_pass` is right on a third of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("lab")

OK, FAILED, INTERRUPTED, INTERNAL, USAGE, NOTHING = 0, 1, 2, 3, 4, 5
LAB = "--sop-domain=lab"
RIGHT = "--agent=habits:right"
THIRD = "--agent=habits:always_pass"

MORE_AGENTS = """
from pytest_sopbench import Unavailable


def no_provider(inputs):
    if inputs["sample_id"] == "T_01":
        raise Unavailable("busy")
    return "<grade>pass</grade>"


def mute(inputs):
    return ""
"""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One row of the table; `says` and `never` are lines of the output.

    xdist ends a session that -x cuts short as an interrupted one, and one that `pytest.exit` ends
    in a worker by an error of its own, hence `status_of_workers`.
    """

    args: tuple[str, ...]
    status: int
    status_of_workers: int | None = None
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    ini: str = ""
    addopts: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    before: tuple[str, ...] = ()
    unit_test: str = ""


def gated(*args: str, agent: str = THIRD) -> tuple[str, ...]:
    return (LAB, agent, *args)


NO_TEST = "sop: no test asked for a run of an agent, so the gate of the configuration was not *"
NOT_EVALUATED = "gate   not evaluated: {} took * of 6 selected tasks away*"

TABLE = {
    "all correct, no gate": Cell(args=(LAB, RIGHT), status=OK, never=("gate*",)),
    "some wrong, no gate": Cell(
        args=(LAB, THIRD), status=FAILED, says=("FAILED*T_01*",), never=("gate*", "*missed*")
    ),
    "gate holds over misses": Cell(
        args=gated("--sop-fail-under=0.3"),
        status=OK,
        says=("*4 misses*", "gate   TSR >= 30% holds (got 33.33%)", "*2 passed, 4 missed*"),
    ),
    "gate as a percentage": Cell(args=gated("--sop-fail-under=33%"), status=OK),
    "gate at the very rate": Cell(args=(LAB, RIGHT, "--sop-fail-under=1"), status=OK),
    "gate of zero holds over nothing right": Cell(
        args=gated("--sop-fail-under=0", agent="--agent=more:mute"), status=OK
    ),
    "gate does not hold": Cell(
        args=gated("--sop-fail-under=0.34"),
        status=FAILED,
        says=("gate   TSR >= 34% does not hold (got 33.33%): 2 of 6",),
    ),
    "gate of the configuration": Cell(
        args=gated(), ini="sop_fail_under = 0.3", status=OK, says=("*TSR >= 30% holds*",)
    ),
    "gate of the command line replaces it": Cell(
        args=gated("--sop-fail-under=0.9"),
        ini="sop_fail_under = 0.3",
        status=FAILED,
        says=("*TSR >= 90% does not hold*",),
    ),
    "none switches it off": Cell(
        args=gated("--sop-fail-under=none"),
        ini="sop_fail_under = 0.3",
        status=FAILED,
        says=("FAILED*T_01*",),
        never=("gate*",),
    ),
    "gate on ECR": Cell(args=gated("--sop-gate=ecr=1"), status=OK, says=("*ECR >= 100% holds*",)),
    "two gates, one does not hold": Cell(
        args=gated("--sop-gate=ecr=1", "--sop-gate=tsr=0.9"),
        status=FAILED,
        says=("*ECR >= 100% holds*", "*TSR >= 90% does not hold*"),
    ),
    "gates of the configuration": Cell(
        args=gated(), ini="sop_gate = ecr=1 tsr=0.3", status=OK, says=("*TSR >= 30% holds*",)
    ),
    "nothing to divide is no pass": Cell(
        args=gated("--sop-gate=c_tsr=0.1", agent="--agent=more:mute"),
        status=FAILED,
        says=("gate   C-TSR >= 10% inconclusive (got n/a): no run came to an answer",),
    ),
    "nothing is missed, and no gate can be decided": Cell(
        args=(LAB, RIGHT, "--sop-gate=pass_all=1"),
        status=FAILED,
        says=("*inconclusive*each task was run once*",),
    ),
    "no call leaves tool accuracy open": Cell(
        args=gated("--sop-gate=tool_accuracy=0.1"),
        status=FAILED,
        says=("*tool accuracy >= 10% inconclusive*",),
    ),
    "too much unavailable is no pass": Cell(
        args=gated("--sop-fail-under=0.1", agent="--agent=more:no_provider"),
        status=FAILED,
        says=("*inconclusive (got n/a): 16.67% of the runs were*",),
    ),
    "more unavailable may be tolerated": Cell(
        args=gated(
            "--sop-fail-under=0.1", "--sop-gate=unavailable=0.2", agent="--agent=more:no_provider"
        ),
        status=OK,
        says=("*TSR >= 10% holds*", "*unavailable <= 20% holds (got 16.67%)*"),
    ),
    "-k takes tasks away, misses fail": Cell(
        args=gated("--sop-fail-under=0.1", "-k", "T_01"),
        status=FAILED,
        says=(NOT_EVALUATED.format("-k"),),
    ),
    "-k takes tasks away, nothing missed": Cell(
        args=(LAB, RIGHT, "--sop-fail-under=0.1", "-k", "T_01"),
        status=FAILED,
        says=(NOT_EVALUATED.format("-k"),),
    ),
    "-k takes tasks away from a gate of the configuration": Cell(
        args=(LAB, RIGHT, "-k", "T_01"),
        ini="sop_fail_under = 0.1",
        status=OK,
        says=(NOT_EVALUATED.format("-k"),),
    ),
    "-k takes tasks away from a gate of addopts": Cell(
        args=(LAB, RIGHT, "-k", "T_01"),
        ini="addopts = --sop-fail-under=0.1",
        status=OK,
        says=(NOT_EVALUATED.format("-k"),),
    ),
    "-k takes tasks away in CI": Cell(
        args=(LAB, RIGHT, "-k", "T_01"),
        ini="sop_fail_under = 0.1",
        environment={"CI": "true"},
        status=FAILED,
        says=(NOT_EVALUATED.format("-k"),),
    ),
    "-k takes tasks away where CI is switched off": Cell(
        args=(LAB, RIGHT, "-k", "T_01"),
        ini="sop_fail_under = 0.1",
        environment={"CI": "false"},
        status=OK,
    ),
    "-k takes tasks away from a gate of -o": Cell(
        args=(LAB, RIGHT, "-k", "T_01", "-o", "sop_fail_under=0.1"),
        status=FAILED,
        says=(NOT_EVALUATED.format("-k"),),
    ),
    "-k takes tasks away from a gate of PYTEST_ADDOPTS": Cell(
        args=(LAB, RIGHT, "-k", "T_01"),
        addopts="--sop-gate=tsr=0.1",
        status=FAILED,
        says=(NOT_EVALUATED.format("-k"),),
    ),
    "-k of PYTEST_ADDOPTS takes tasks away": Cell(
        args=(LAB, RIGHT, "--sop-gate=tsr=0.1"),
        addopts="-k T_01",
        status=FAILED,
        says=(NOT_EVALUATED.format("-k"),),
    ),
    "-m keeps all": Cell(
        args=gated("--sop-fail-under=0.1", "-m", "sop"), status=OK, says=("*holds*",)
    ),
    "-m takes all away": Cell(
        args=gated("--sop-fail-under=0.1", "-m", "not sop"),
        status=NOTHING,
        says=(NOT_EVALUATED.format("-m"),),
    ),
    "-m takes all away but a unit test": Cell(
        args=(LAB, RIGHT, "--sop-fail-under=0.1", "-m", "not sop", "test_beside.py"),
        unit_test="def test_task(sop_run): pass\ndef test_unit(): pass",
        status=FAILED,
        says=(NOT_EVALUATED.format("-m"), "*1 passed*"),
    ),
    "-m takes all away from a gate of the configuration": Cell(
        args=("-m", "not sop", "test_beside.py"),
        ini="sop_domain = lab\nsop_agent = habits:right\nsop_fail_under = 1",
        unit_test="def test_task(sop_run): pass\ndef test_unit(): pass",
        status=OK,
        says=(NO_TEST, "*1 passed*"),
    ),
    "--deselect": Cell(
        args=gated("--sop-fail-under=0.1", "--deselect=domains/lab/data.csv::T_01"),
        status=FAILED,
        says=(NOT_EVALUATED.format("--deselect"),),
    ),
    "--lf": Cell(
        before=(LAB, THIRD),
        args=gated("--sop-fail-under=0", "--lf"),
        status=FAILED,
        says=(NOT_EVALUATED.format("--lf"),),
    ),
    "a node id": Cell(
        args=gated("--sop-fail-under=0", "domains/lab/data.csv::T_01"),
        status=FAILED,
        says=(
            "gate   not evaluated: node ids or another plugin took 5 of 6 selected tasks",
            "       away; 1 missed, which fails the session",
        ),
    ),
    "-x stops at the first miss": Cell(
        args=gated("--sop-fail-under=0", "-x"),
        status=FAILED,
        status_of_workers=INTERRUPTED,
        says=("gate   not evaluated: the session was cut short*",),
    ),
    "--maxfail": Cell(
        args=gated("--sop-fail-under=0", "--maxfail=2"),
        status=FAILED,
        status_of_workers=INTERRUPTED,
        says=("gate   not evaluated: the session was cut short*",),
    ),
    "--sop-sample first:is what the gate is asked of": Cell(
        args=gated("--sop-fail-under=0.5", "--sop-sample=first:3"),
        status=FAILED,
        says=("select 3 of 6 tasks of lab", "*does not hold*1 of 3"),
    ),
    "--sop-sample is even over the answers": Cell(
        args=gated("--sop-fail-under=0.33", "--sop-sample=3"), status=OK, says=("*holds*",)
    ),
    "a task by name is what the gate is asked of": Cell(
        args=("--sop-domain=lab::T_03", THIRD, "--sop-fail-under=1"), status=OK, says=("*holds*",)
    ),
    "a shard forgives its misses": Cell(
        args=gated("--sop-shard=1/1"), status=OK, says=("*4 misses*",), never=("gate*",)
    ),
    "a shard refuses gates": Cell(
        args=gated("--sop-shard=1/2", "--sop-fail-under=0.1"), status=USAGE
    ),
    "a unit test beside, failing": Cell(
        args=(LAB, RIGHT, "--sop-fail-under=0.1", "test_beside.py"),
        unit_test="def test_task(sop_run): pass\ndef test_unit(): assert False",
        status=FAILED,
        says=("*holds*", "FAILED*test_unit*"),
    ),
    "a user's test is forgiven by no gate": Cell(
        args=(LAB, THIRD, "--sop-fail-under=0.1", "test_beside.py"),
        unit_test="def test_task(sop_run): sop_run.assert_correct()",
        status=FAILED,
        says=("*TSR >= 10% holds*", "FAILED*test_task*"),
        never=("*missed*",),
    ),
    "unit tests alone do not feel the gate": Cell(
        args=("test_beside.py",),
        ini="sop_domain = lab\nsop_agent = habits:always_pass\nsop_fail_under = 1",
        unit_test="def test_unit(): pass",
        status=OK,
        says=(NO_TEST,),
        never=("gate*", "*SOP*"),
    ),
    "a set-up that fails before anything is asked for": Cell(
        args=(LAB, RIGHT, "--sop-fail-under=0.9", "test_beside.py"),
        unit_test="def test_task(sop_task, nowhere): pass",
        status=FAILED,
        says=("gate   not evaluated: the set-up of a test failed before it asked for a run of*",),
        never=("*no test asked*",),
    ),
    "a set-up that fails, gate of the configuration": Cell(
        args=("test_beside.py",),
        ini="sop_domain = lab\nsop_agent = habits:right\nsop_fail_under = 1",
        unit_test="def test_late(nowhere, request): request.getfixturevalue('sop_run')",
        status=FAILED,
        says=("sop: the set-up of a test failed before it asked for a run of an agent, so the*",),
        never=("*no test asked*",),
    ),
    "a session that is refused": Cell(
        args=("nowhere",),
        ini="sop_domain = lab\nsop_agent = habits:right\nsop_fail_under = 1",
        status=USAGE,
        never=("*no test asked*",),
    ),
    "unit tests alone, gate of the configuration, domain of the command line": Cell(
        args=(LAB, "test_beside.py"),
        ini="sop_fail_under = 1",
        unit_test="def test_unit(): pass",
        status=OK,
        says=(NO_TEST,),
    ),
    "unit tests alone, gate of the command line": Cell(
        args=("--sop-fail-under=0.9", "test_beside.py"),
        unit_test="def test_unit(): pass",
        status=USAGE,
    ),
    "unit tests alone, gate and domain of the command line": Cell(
        args=(LAB, RIGHT, "--sop-gate=tsr=0.9", "test_beside.py"),
        unit_test="def test_unit(): pass",
        status=USAGE,
    ),
    "unit tests alone are listed in spite of a gate": Cell(
        args=("--sop-fail-under=0.9", "test_beside.py", "--collect-only"),
        unit_test="def test_unit(): pass",
        status=OK,
    ),
    "a test that asks for a task and no run": Cell(
        args=(LAB, "--sop-fail-under=0.9", "test_beside.py"),
        unit_test="def test_task(sop_task): pass",
        status=FAILED,
        says=("gate   not evaluated: no test asked for a run of an agent*",),
    ),
    "a test that asks for its run late": Cell(
        args=(LAB, RIGHT, "--sop-fail-under=0.9", "test_beside.py"),
        unit_test="def test_task(sop_task, request): request.getfixturevalue('sop_run')",
        status=OK,
        says=("*TSR >= 90% holds*",),
    ),
    "the agent is right, and pytest.exit ends the session": Cell(
        args=(LAB, RIGHT, "--sop-fail-under=0.9", "test_beside.py"),
        unit_test="import pytest\ndef test_task(sop_run): pass\n"
        "def test_exit(): pytest.exit('enough', returncode=0)",
        status=FAILED,
        status_of_workers=INTERNAL,
    ),
    "collecting only": Cell(
        args=gated("--sop-fail-under=1", "--collect-only"), status=OK, never=("gate*",)
    ),
    "no agent": Cell(
        args=(LAB, "test_beside.py"), unit_test="def test(sop_run): pass", status=USAGE
    ),
    "no domain": Cell(
        args=(RIGHT, "test_beside.py"), unit_test="def test(sop_run): pass", status=USAGE
    ),
    "unknown domain": Cell(args=("--sop-domain=lob", RIGHT), status=USAGE),
    "unknown agent": Cell(args=(LAB, "--agent=habits:rihgt"), status=USAGE),
    "a gate on a domain that is not selected": Cell(
        args=gated("--sop-gate=clinic:tsr=1"), status=USAGE
    ),
}


IN_WORKERS = (
    "some wrong, no gate",
    "gate holds over misses",
    "gate does not hold",
    "too much unavailable is no pass",
    "-k takes tasks away, misses fail",
    "-k takes tasks away from a gate of the configuration",
    "-m takes all away",
    "-m takes all away but a unit test",
    "--lf",
    "a node id",
    "-x stops at the first miss",
    "--maxfail",
    "a shard forgives its misses",
    "a unit test beside, failing",
    "a user's test is forgiven by no gate",
    "unit tests alone do not feel the gate",
    "a test that asks for a task and no run",
    "a test that asks for its run late",
    "the agent is right, and pytest.exit ends the session",
    "no agent",
    "unknown domain",
)
"""What workers select, refuse or end, and each kind of gate; all else the controller decides."""

SITUATIONS = [
    *(pytest.param(cell, (), id=f"plain-{name}") for name, cell in TABLE.items()),
    *(pytest.param(TABLE[name], ("-n2",), id=f"two workers-{name}") for name in IN_WORKERS),
]


@pytest.mark.parametrize(("cell", "workers"), SITUATIONS)
def test_each_situation_has_its_status(
    pytester: pytest.Pytester,
    cell: Cell,
    workers: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytester.makepyfile(more=MORE_AGENTS)
    for name, value in cell.environment.items():
        monkeypatch.setenv(name, value)
    if cell.addopts:
        monkeypatch.setenv("PYTEST_ADDOPTS", f"{os.environ['PYTEST_ADDOPTS']} {cell.addopts}")
    if cell.ini:
        pytester.makeini(f"[pytest]\n{cell.ini}")
    if cell.unit_test:
        pytester.makepyfile(test_beside=cell.unit_test)
    if cell.before:
        pytester.runpytest(*cell.before)

    result = pytester.runpytest(*cell.args, *workers)

    expected = cell.status_of_workers if workers and cell.status_of_workers else cell.status
    assert expected == result.ret
    for line in cell.says:
        result.stdout.fnmatch_lines([line])
    for line in cell.never:
        result.stdout.no_fnmatch_line(line)


def test_one_of_several_domains_may_fail_the_gate(
    pytester: pytest.Pytester,
    make_domain: Callable[..., Path],
) -> None:
    """The gate is asked of every domain and of the pooled total."""
    make_domain("clinic", tasks=3)
    agent = "def agent(inputs, domain): return 'pass' if domain == 'clinic' else None"
    pytester.makepyfile(picky=agent)

    result = pytester.runpytest(
        "--sop-domain=lab,clinic", "--agent=picky:agent", "--sop-fail-under=0.1"
    )

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "gate   lab: TSR >= 10% does not hold (got 0%)*",
            "gate   clinic: TSR >= 10% holds (got 33.33%)",
            "gate   all: TSR >= 10% holds (got 11.11%)",
        ]
    )


def test_a_gate_may_be_asked_of_one_domain(
    pytester: pytest.Pytester,
    make_domain: Callable[..., Path],
) -> None:
    make_domain("clinic", tasks=3)

    result = pytester.runpytest("--sop-domain=lab,clinic", RIGHT, "--sop-gate=clinic:tsr=1")

    assert OK == result.ret
    result.stdout.fnmatch_lines(["gate   clinic: TSR >= 100% holds (got 100%)"])
    result.stdout.no_fnmatch_line("gate   lab*")


def test_a_gate_is_asked_of_each_agent_of_a_domain(pytester: pytest.Pytester) -> None:
    """A good agent must not hide a bad one."""
    pytester.makepyfile(
        test_two="""
        import pytest

        @pytest.mark.sop(domain="lab", agent="habits:right")
        def test_right(sop_run): pass

        @pytest.mark.sop(domain="lab", agent="habits:silent", answer="ignored")
        def test_silent(sop_run): pass
        """
    )

    result = pytester.runpytest("test_two.py", "--sop-gate=tsr=0.5")

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "gate   lab (habits:right): TSR >= 50% holds (got 100%)",
            "gate   lab (habits:silent): TSR >= 50% does not hold (got 0%)*",
        ]
    )


def test_a_gate_that_holds_names_the_failures_beside_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_unit="def test_task(sop_run): pass\ndef test_unit(): assert False")

    result = pytester.runpytest(LAB, RIGHT, "--sop-fail-under=1", "test_unit.py")

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(["gate*holds*", "       1 other failure, which no gate forgives"])


def test_an_empty_shard_exits_with_0(
    pytester: pytest.Pytester,
) -> None:
    """A matrix may have more jobs than tasks; all shards together run every task once."""
    statuses, ran = set(), 0
    for number in range(1, 13):
        result = pytester.runpytest(LAB, RIGHT, f"--sop-shard={number}/12")
        statuses.add(int(result.ret))
        ran += result.parseoutcomes().get("passed", 0)

    assert {OK} == statuses
    assert 6 == ran


def test_an_error_of_a_fixture_is_forgiven_by_no_gate(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True)
        def breaks_afterwards(request):
            yield
            if request.node.name == "T_01":
                raise RuntimeError("torn down badly")
        """
    )

    result = pytester.runpytest(LAB, THIRD, "--sop-fail-under=0.1", *workers)

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(["*TSR >= 10% holds*", "*1 error, 4 missed*"])


def test_a_dead_worker_costs_its_run_alone(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, "--agent=habits:dying", "-n2", "--sop-fail-under=0.8")

    assert OK == result.ret
    result.stdout.fnmatch_lines(
        ["crash: * T_03", "TSR *correct, 5 of 6 *", "*1 crash*", "*5 passed, 1 missed*"]
    )


def test_workers_that_may_not_be_replaced_leave_runs_that_never_started(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    """A gate says nothing over them; the user set xdist's limit, so it is kept."""
    make_domain("long", tasks=40)
    pytester.makepyfile(deadly="import os\ndef agent(inputs): os._exit(3)")

    result = pytester.runpytest(
        "--sop-domain=long",
        "--agent=deadly:agent",
        "-n2",
        "--max-worker-restart=0",
        "--sop-fail-under=0",
    )

    assert OK != result.ret
    result.stdout.fnmatch_lines(["TSR *correct, 0 of 40 *", "*not_run*2 crash*"])
    result.stdout.no_fnmatch_line("gate*holds*")
