"""A model provider on the loopback, and a small desk that has agents run on the bundled domain."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import boto3
import openai
import pytest

import pytest_sopbench
from pytest_sopbench import Domain, Task, Trace, Verdict
from pytest_sopbench._core.availability import is_unavailable
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.steps import Approver, approve_all
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.runner import run_task
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.agents import Message, ModelRequest, Reply, StopReason

sys.path.insert(0, str(Path(__file__).parent))

from model_stub import Stub

SDKS = (boto3, openai)
"""Imported here, since a session inside of a test forgets its imports, and these bear but one."""
for lazy in ("httpcore", "httpcore2"):
    # Whichever the SDK's client is on: it imports that with its first request.
    with suppress(ImportError):
        import_module(lazy)
KEY = "sk-canary-5Qw8Zt1Lm3"
SECRET = "aws-canary-secret-77Xy"  # noqa: S105 - of nobody


@pytest.fixture(params=["openai/m-1", "openai-responses/m-1", "bedrock/vendor.m-1:0"])
def model(request: pytest.FixtureRequest) -> str:
    """Each of the clients, as `--agent` names it."""
    return str(request.param)


@pytest.fixture
def secrets() -> tuple[str, ...]:
    """What the environment of a test holds and nothing may tell."""
    return KEY, SECRET, "AKIACANARY"


@pytest.fixture(scope="session")
def served() -> Iterator[Stub]:
    """One server for all tests: for each other address boto3 would make a client, which is slow."""
    with Stub() as stub:
        yield stub


@pytest.fixture
def stub(served: Stub, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """The stub, where the clients of this process and of its children find it."""
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{served.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", served.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIACANARY00000")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    served.reset()
    return served


@dataclass
class Ran:
    """What came of one run."""

    task: Task
    trace: Trace
    verdict: Verdict


@dataclass
class Desk:
    """Runs agents on tasks of the bundled domain, each judged as in a session."""

    domain: Domain
    factory: ToolboxFactory = field(init=False)

    def __post_init__(self) -> None:
        self.factory = ToolboxFactory(self.domain)

    def run(
        self,
        agent: object,
        task: Task | None = None,
        *,
        max_calls: int = 100,
        approver: Approver = approve_all,
    ) -> Ran:
        task = task or self.domain.tasks[0]
        toolbox = self.factory.open(task, max_calls=max_calls, clock=ticking())
        trace = run_task(
            AgentCaller(agent).asking(approver),
            self.domain,
            task,
            toolbox,
            clock=ticking(),
            unavailable=is_unavailable,
        )
        domain = self.domain
        rules = JudgingRules(
            fields=domain.fields,
            sop=domain.sop,
            scoring=Scoring.EXACT,
            contract=domain.contract,
            expected_calls=domain.expected_calls,
        )
        return Ran(task, trace, judge(rules, task, trace))

    def outcomes(self, agent: object, tasks: Sequence[Task]) -> Counter[str]:
        with ThreadPoolExecutor(8) as pool:
            ran = pool.map(lambda task: self.run(agent, task), tasks)
            return Counter(one.verdict.outcome.value for one in ran)


def ticking() -> Any:
    return map(float, itertools.count()).__next__


@pytest.fixture(scope="session")
def goods() -> Domain:
    return load_domain(Path(pytest_sopbench.__file__).parent / "bundled" / "dangerous_goods")


@pytest.fixture(scope="session")
def desk(goods: Domain) -> Desk:
    return Desk(goods)


@dataclass
class ScriptedClient:
    """Says what it was told to say, and keeps what it was asked; the last reply is said on."""

    replies: list[Reply]
    asked: list[ModelRequest] = field(default_factory=list)

    def complete(self, request: ModelRequest) -> Reply:
        self.asked.append(request)
        return self.replies[min(len(self.asked), len(self.replies)) - 1]

    async def acomplete(self, request: ModelRequest) -> Reply:
        return self.complete(request)

    @property
    def last(self) -> Message:
        """The last message of the last request."""
        return self.asked[-1].messages[-1]


Scripted = Callable[..., ScriptedClient]


@pytest.fixture
def scripted() -> Scripted:
    """Makes a client that says these replies; a text stands for a reply of that text."""

    def make(*replies: Reply | str) -> ScriptedClient:
        return ScriptedClient([said(one) if isinstance(one, str) else one for one in replies])

    return make


def said(text: str) -> Reply:
    return Reply(message=Message(role="assistant", text=text), stop=StopReason.END)
