"""What an agent tells of its run by itself: usage, messages and approvals."""

from __future__ import annotations

from threading import Lock
from typing import Final

from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.model.prices import Prices, Reckoning
from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Approval, Usage
from pytest_sopbench._core.model.usage import add_usage, fill_unknown, read_usage, server_of
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.plain import escape_surrogates, to_json_value

from .call_log import CallLog

MESSAGES_LIMIT: Final = 10_000
"""Messages that one run keeps; the rest is left out, and noted."""

NOTES_LIMIT: Final = 20
"""Notes of an agent that one run keeps; the rest is left out."""

NOTE_LIMIT: Final = 300
"""Characters of a note."""


class ReportedUsage:
    """Collects what is reported during a run; safe to use from many threads."""

    def __init__(self, ledger: CallLog, notes: list[str]) -> None:
        self._ledger = ledger
        self._notes = notes
        self._lock = Lock()
        self._closed = False
        self._told = 0
        self._messages: list[JsonValue] = []
        self._approvals: list[Approval] = []
        self._prices: Prices | None = None
        self._reckoning = Reckoning(None)
        self._usage = UNKNOWN_USAGE

    def reckon_by(self, prices: Prices | None) -> None:
        """Have costs reckoned by these prices, from the first report on."""
        if prices is not None:
            self._prices, self._reckoning = prices, Reckoning(prices)

    def consumed(self, returned: Usage = UNKNOWN_USAGE) -> Usage:
        """Return what the run has consumed, and what it cost where that can be reckoned.

        Args:
            returned: what was told by what the agent returned; it counts where no report told it.
        """
        with self._lock:
            told, reckoning = fill_unknown(self._usage, returned), self._reckoning
        if not reckoning.has_reports and told is not UNKNOWN_USAGE:
            reckoning = Reckoning(self._prices)
            reckoning.add(told)
        return reckoning.priced(told)

    def report(
        self, usage: object, messages: object, notes: object = None, model: object = None
    ) -> None:
        read = read_usage(usage, model)
        server = server_of(usage)
        said: JsonValue = [] if messages is None else to_json_value(messages, self._notes)
        noted: JsonValue = [] if notes is None else to_json_value(notes)
        with self._lock:
            if self._closed:
                return
            self._usage = add_usage(self._usage, read)
            self._reckoning.add(read, server)
            self._messages += said if isinstance(said, list) else [said]
            # A note is a line of reports, so an agent may not fill them.
            told = noted if isinstance(noted, list) else [noted]
            room = max(0, NOTES_LIMIT - self._told)
            self._notes += [ready_to_cut(str(one))[:NOTE_LIMIT] for one in told[:room]]
            self._told += len(told)
            if len(self._messages) > MESSAGES_LIMIT:
                del self._messages[MESSAGES_LIMIT:]
                self._notes.append(f"only the first {MESSAGES_LIMIT:,} messages were kept")

    def approve(self, step: str, by: str, *, granted: bool = True, reason: str = "") -> None:
        approval = Approval(
            step=escape_surrogates(str(step), self._notes),
            by=escape_surrogates(str(by), self._notes),
            started=self._ledger.now(),
            calls=self._ledger.begun,
            granted=granted,
            reason=escape_surrogates(str(reason), self._notes),
        )
        with self._lock:
            if not self._closed:
                self._approvals.append(approval)

    def close(self) -> None:
        with self._lock:
            self._closed = True

    @property
    def messages(self) -> tuple[JsonValue, ...]:
        with self._lock:
            return tuple(self._messages)

    @property
    def approvals(self) -> tuple[Approval, ...]:
        with self._lock:
            return tuple(self._approvals)
