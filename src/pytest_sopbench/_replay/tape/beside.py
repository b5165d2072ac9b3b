"""Requests of whoever decides about an answer: comparers, and judges that are models."""

from __future__ import annotations

from pytest_sopbench.errors import MissingRecordingError

from .exchange import Request, Response

REFUSED = (
    "nothing is sent while runs are replayed, also not by what compares or judges an answer; "
    "where it has decided before, its judgement is kept and serves again"
)


class BesideTape:
    """Keeps nothing and counts nothing: what it sees is no traffic of an agent."""

    def __init__(self, *, refuses: bool) -> None:
        self._refuses = refuses

    def answer(self, request: Request) -> Response | None:
        """Have a request sent, unless nothing is."""
        del request
        if self._refuses:
            raise MissingRecordingError(REFUSED)
        return None

    def keep(self, request: Request, response: Response) -> None:
        """Keep nothing: a judge keeps its judgements, and they cost nothing again."""

    def lost(self, request: Request, error: BaseException) -> None:
        """Nothing was expected."""
