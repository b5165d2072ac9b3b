"""The judge: which model it is, and one judgement for each question.

The setting says it: `sop_judge = openai/MODEL temperature=0`. A question is asked once, however
many ask it at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from threading import Lock
from typing import Final

from pytest_sopbench._core.fields.comparison import Match, as_text
from pytest_sopbench._core.judging import Question as Comparison
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.text import is_empty
from pytest_sopbench._judge.asking import (
    Judgement,
    ModelAsker,
    Question,
    bounded,
    digest,
    prompt_hash,
    read_reply,
)
from pytest_sopbench._judge.keeping import ASKED, FAILED, KEPT, ConsumptionLog, Judgements
from pytest_sopbench._running.comparing import Comparer
from pytest_sopbench.agents.clients import Named, make_client, server_of, shown_address
from pytest_sopbench.agents.conversation import ModelClient
from pytest_sopbench.agents.settings import Connection, connection_of, parameters_of
from pytest_sopbench.errors import AgentSpecError, JudgeError, NotJudgedError

OPTION: Final = "sop_judge"
_ENV: Final = "env:"
_TEMPERATURE: Final = "temperature"
_NOT_SET: Final = "none"

_PARAMETERS: Final = (_TEMPERATURE, "top_p", "max_tokens", "seed", "reasoning_effort")
_CONNECTION: Final = ("base_url", "api_key", "region", "timeout", "max_retries", "connections")
_DEFAULTS: Final = {"timeout": "50", "max_retries": "2", "connections": "64"}
_ADVICE: Final = "write sop_judge = openai/MODEL, and settings behind it: temperature=none"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSetting:
    """A model judge as the project sets it.

    Attributes:
        model: `PROVIDER/MODEL`.
        parameters: what the model is given beside the conversation, as text.
        connection: how its provider is reached.
        server: the address of another server than the provider's own, without passwords.
    """

    model: str
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    connection: Connection = field(default_factory=Connection, repr=False)
    server: str = ""

    @property
    def settings(self) -> Mapping[str, str]:
        """What a judgement depends on beside its question; no secret is among it."""
        return {
            "model": self.model,
            "prompt": prompt_hash(),
            **({"server": self.server} if self.server else {}),
            **self.parameters,
        }

    def client(self, *, with_temperature: bool = True) -> ModelClient:
        """Make the client.

        Raises:
            JudgeError: its library or its key is missing, or it does not take a setting.
        """
        given = {
            name: one
            for name, one in self.parameters.items()
            if with_temperature or name != _TEMPERATURE
        }
        try:
            client = make_client(self.model, parameters_of(given), self.connection)
        except AgentSpecError as error:
            raise _as_judge_error(error) from None
        return Named(client, self.model, self.server)


def read_setting(words: Sequence[str]) -> JudgeSetting | None:
    """Read `PROVIDER/MODEL KEY=VALUE...`; `None` if no judge is set.

    The temperature is 0 unless another one is given; `temperature=none` leaves it to the provider.

    Raises:
        JudgeError: a word means nothing, or the provider is not known.
    """
    if not words:
        return None
    model, *rest = words
    if "=" in model:
        msg = f"{OPTION}: the model is missing before {model!r}"
        raise JudgeError(msg, hint=_ADVICE)
    given = dict(map(_pair, rest))
    if len(given) < len(rest):
        msg = f"{OPTION}: a setting is given twice: {' '.join(rest)}"
        raise JudgeError(msg, hint=_ADVICE)
    connection: dict[str, str | None] = dict.fromkeys(_CONNECTION)
    connection |= _DEFAULTS
    connection |= {name: one for name, one in given.items() if name in _CONNECTION}
    connection["api_key"] = _key(given.get("api_key"))
    parameters: dict[str, str] = {_TEMPERATURE: "0"}
    parameters |= {name: one for name, one in given.items() if name in _PARAMETERS}
    if parameters[_TEMPERATURE] == _NOT_SET:
        del parameters[_TEMPERATURE]
    try:
        parameters_of(parameters)
        reached = connection_of(connection)
        server = shown_address(server_of(model, reached))
    except AgentSpecError as error:
        raise _as_judge_error(error) from None
    except KeyError:
        # An unknown provider; the client says which there are.
        reached, server = connection_of(connection), ""
    return JudgeSetting(
        model=model, parameters=dict(sorted(parameters.items())), connection=reached, server=server
    )


def _pair(word: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    known = (*_PARAMETERS, *_CONNECTION)
    if not sign or not value:
        msg = f"{OPTION}: {word!r} is no KEY=VALUE"
        raise JudgeError(msg, hint=_ADVICE)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        told = f"did you mean {near[0]}? " if near else ""
        msg = f"{OPTION}: there is no setting {name!r}"
        raise JudgeError(msg, hint=f"{told}the settings are {', '.join(known)}")
    return name, value


def _key(value: str | None) -> str | None:
    if value is None:
        return None
    if not value.startswith(_ENV):
        # A file of the project is no place for a key, and the message must not repeat it.
        msg = f"{OPTION}: api_key holds a key itself"
        raise JudgeError(msg, hint="write api_key=env:NAME, and set that variable")
    name = value.removeprefix(_ENV)
    if not os.environ.get(name):
        msg = f"{OPTION}: api_key: the environment has no variable {name!r}, or it is empty"
        raise JudgeError(msg, hint="set it, or name another")
    return os.environ[name]


def _as_judge_error(error: AgentSpecError) -> JudgeError:
    return JudgeError(f"{OPTION}: {error.message}", hint=error.hint)


# The judge: one judgement for each question, asked once however many ask it at the same time.

_HASH: Final = 16


def fingerprint_of(setting: JudgeSetting, rubric: str) -> str:
    """Return what changes with the model, its settings, the prompt and the rubric of a field."""
    return digest({"settings": dict(setting.settings), "rubric": rubric})[:_HASH]


@dataclass(slots=True, kw_only=True)
class ModelJudge:
    """A model that judges, with the judgements that are kept.

    Attributes:
        setting: which model, and how it is asked.
        asker: puts a question to it.
        judgements: those that are kept.
        log: what was asked.
    """

    setting: JudgeSetting
    asker: ModelAsker
    judgements: Judgements
    log: ConsumptionLog
    _asked: dict[str, Future[Judgement | None]] = field(
        default_factory=dict[str, "Future[Judgement | None]"]
    )
    _lock: Lock = field(default_factory=Lock)

    def judge(self, question: Question) -> Judgement:
        """Return the judgement of a question.

        An empty answer is right if an empty one is expected, and no model is asked for it.

        Raises:
            NotJudgedError: the model gave no judgement.
            Exception: whatever the client of its provider raises.
        """
        if is_empty(question.actual):
            return Judgement(held=is_empty(question.expected), reason="it is empty", quote="")
        key = question.key(self.setting.settings)
        while True:
            is_own, flying = self._board(key)
            if is_own:
                return self._settle(key, question, flying)
            found = flying.result()
            if found is not None:
                self.log.add(KEPT, key=key)
                return found

    def _board(self, key: str) -> tuple[bool, Future[Judgement | None]]:
        """Return the question that was asked already, or a new one of this caller's own."""
        with self._lock:
            known = self._asked.get(key)
            if known is not None:
                return False, known
            flying = self._asked[key] = Future[Judgement | None]()
            return True, flying

    def _settle(self, key: str, question: Question, flying: Future[Judgement | None]) -> Judgement:
        """Find the judgement or ask for it, and let everybody have it who waits."""
        try:
            kept = self._kept(key, question.actual)
            judgement = kept or self._judgement(question)
        except Exception as error:
            # Whoever asked the same at the same time gets the same: one question, one price.
            self._forget(key)
            flying.set_exception(error)
            raise
        except BaseException:
            # This caller was interrupted; somebody else who waits asks for himself.
            self._forget(key)
            flying.set_result(None)
            raise
        flying.set_result(judgement)
        if kept is None:
            self._keep(key, question, judgement)
        else:
            self.log.add(KEPT, key=key)
        return judgement

    def _kept(self, key: str, answer: str) -> Judgement | None:
        """Return the judgement that is kept; what is doubtful is asked again, and said to be."""
        try:
            found = self.judgements.find(key, answer)
            # Who writes into the folder of judgements is not bound by what is written there.
            return bounded(found) if found else None
        except NotJudgedError as doubt:
            self.log.note(doubt.message)
            return None

    def _judgement(self, question: Question) -> Judgement:
        try:
            reply = self.asker.ask(question)
        except Exception:
            self.log.add(FAILED)
            raise
        for part in self.asker.left_out:
            self.log.note(f"asked without {part}, which the model refuses")
        try:
            judgement = read_reply(reply, question.actual)
        except NotJudgedError:
            self.log.add(FAILED, reply.usage)
            raise
        self.log.add(ASKED, reply.usage, key=question.key(self.setting.settings))
        return judgement

    def _forget(self, key: str) -> None:
        with self._lock:
            self._asked.pop(key, None)

    def _keep(self, key: str, question: Question, judgement: Judgement) -> None:
        try:
            self.judgements.keep(key, judgement, model=self.setting.model, field=question.field)
        except OSError:
            # The judgement holds all the same; the next session pays for it again.
            self.log.note(f"judgements could not be kept in {self.judgements.folder}")


# The judge as what compares an output field, as a function of the user would.


def judged_by(judge: ModelJudge, field: OutputField) -> Comparer:
    """Return what compares a field by its rubric; its identity changes with judge and rubric."""
    setting = judge.setting
    identity = f"judge {setting.model} {fingerprint_of(setting, field.rubric)}"
    return Comparer(identity, partial(_match, judge))


def _match(judge: ModelJudge, comparison: Comparison) -> Match:
    field = comparison.field
    judgement = judge.judge(
        Question(
            rubric=field.rubric,
            field=field.name,
            expected=as_text(comparison.expected),
            actual=as_text(comparison.actual),
        )
    )
    quote = f' ("{" ".join(judgement.quote.split())}")' if judgement.quote else ""
    return Match(judgement.held, f"{judgement.reason}{quote}", quote=judgement.quote)
