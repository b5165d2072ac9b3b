"""The judge: one judgement for each question, asked once however many ask it at the same time."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Final

from pytest_sopbench._core.fields.comparison import Match, as_text
from pytest_sopbench._core.judging import Question as Comparison
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.text import is_empty
from pytest_sopbench._running.comparing import Comparer
from pytest_sopbench.errors import NotJudgedError

from .asking import Asker, Judgement, Question, bounded, digest, read_reply
from .keeping import ASKED, FAILED, KEPT, ConsumptionLog, Judgements
from .setting import JudgeSetting

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
    asker: Asker
    judgements: Judgements
    log: ConsumptionLog
    _asked: dict[str, Future[Judgement | None]] = field(
        default_factory=dict[str, "Future[Judgement | None]"]
    )
    _lock: Lock = field(default_factory=Lock)

    def judge(self, question: Question) -> Judgement:
        """Return the judgement of a question.

        An empty answer is right where an empty one is expected, and no model is asked for it.

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
