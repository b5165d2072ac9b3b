"""Read JSON and Python literals that stand somewhere in a text, in linear time.

Every `{` is tried, wherever it stands: prose is full of stray braces and quotes. A parser that
starts at one `{` passes others; those that it took for structure fail or succeed with it, so
they are never tried again. The rest stood inside its strings. Each kind of quote swaps two of
the states "outside" and "inside such a string", and a swap never brings two different states
together, so that at most three passes see the same character.

Nothing recurses, and nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from .grammars import GRAMMARS, Dialect, Grammar
from .json import JsonValue

_Object = dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An object in a text, from `start` up to `end`."""

    start: int
    end: int
    value: _Object


def objects(text: str, dialect: Dialect) -> Iterator[Found]:
    """Yield the balanced objects of a text; of two that overlap, the inner one comes first."""
    # No object ends behind the last brace, and much text has none.
    grammar = GRAMMARS[dialect]
    limit = text.rfind("}") + 1
    parser = _Parser(text, grammar, limit)
    for match in grammar.start.finditer(text, 0, limit):
        if not parser.passed[match.start()]:
            parser.parse(match.start())
            yield from parser.found
            parser.found.clear()


def last_object(text: str, dialect: Dialect, wanted: Callable[[_Object], bool]) -> Found | None:
    """Return the balanced object that ends last among those that are wanted.

    Of an object and another inside it the outer one ends last.
    """
    best: Found | None = None
    for found in objects(text, dialect):
        if (best is None or found.end > best.end) and wanted(found.value):
            best = found
    return best


def read_list(text: str) -> list[JsonValue] | None:
    """Read a text that is one JSON or Python list literal, and nothing else."""
    return cast("list[JsonValue] | None", _read_whole(text.strip(), ("[", "(")))


def read_object(text: str, dialect: Dialect) -> _Object | None:
    """Read a text that is one object of that dialect, and nothing else."""
    return cast("_Object | None", _read_whole(text, ("{",), dialect))


def read_container(text: str) -> JsonValue:
    """Read a text that is one JSON or Python list or object, and nothing else, or `None`."""
    return _read_whole(text.strip(), ("[", "(", "{"))


def _read_whole(text: str, marks: tuple[str, ...], dialect: Dialect = Dialect.PYTHON) -> JsonValue:
    if not text.startswith(marks):
        return None
    parser = _Parser(text, GRAMMARS[dialect], len(text))
    return parser.value if parser.parse(0) == len(text) else None


class _Parser:
    """Reads literals of one text, one after the other.

    `found` are the objects that were completed, also inside a literal that broke off; `passed`
    marks each `{` that was taken for structure.
    """

    __slots__ = ("_grammar", "_key", "_limit", "_position", "_stack", "_text", "found", "passed",
                 "value")  # fmt: skip

    def __init__(self, text: str, grammar: Grammar, limit: int) -> None:
        self.found: list[Found] = []
        self.passed = bytearray(limit)
        self.value: Any = None
        self._text = text
        self._grammar = grammar
        self._limit = limit
        self._position = 0
        self._key = ""
        # Each open container: itself, its start, its closing mark, its key in the one around it.
        self._stack: list[tuple[Any, int, str, str]] = []

    def parse(self, start: int) -> int | None:
        """Read one container into `value`; where it ends, or `None` if it breaks off."""
        self._stack.clear()
        self._position = start
        self.value = None
        step: Callable[[], Any] | None = self._read_value
        while step is not None:
            step = step()
        return self._position if self.value is not None else None

    def _read_value(self) -> Callable[[], Any] | None:
        match = self._grammar.value.match(self._text, self._position, self._limit)
        if match is None:
            return None
        self._position = match.end()
        if match.lastgroup == "open":
            return self._open(match["open"])
        try:
            value = self._grammar.read[match.lastgroup or ""](match[match.lastgroup or ""])
        except ValueError:
            return None
        return self._put(value, self._key)

    def _open(self, mark: str) -> Callable[[], Any]:
        start = self._position - 1
        if mark == "{":
            self.passed[start] = 1
            self._stack.append(({}, start, "}", self._key))
            return self._read_key_or_end
        self._stack.append(([], start, "]" if mark == "[" else ")", self._key))
        return self._read_value_or_end

    def _read_key(self) -> Callable[[], Any] | None:
        match = self._grammar.key.match(self._text, self._position, self._limit)
        if match is None:
            return None
        self._position = match.end()
        try:
            self._key = self._grammar.unquote(match[1])
        except ValueError:
            return None
        return self._read_value

    def _read_key_or_end(self) -> Callable[[], Any] | None:
        return self._end_here() or self._read_key()

    def _read_value_or_end(self) -> Callable[[], Any] | None:
        return self._end_here() or self._read_value()

    def _end_here(self) -> Callable[[], Any] | None:
        match = self._grammar.end.match(self._text, self._position, self._limit)
        if match is None or match[1] != self._stack[-1][2]:
            return None
        self._position = match.end()
        return self._close

    def _close(self) -> Callable[[], Any] | None:
        value, start, mark, key = self._stack.pop()
        if mark == "}":
            self.found.append(Found(start=start, end=self._position, value=value))
        if self._stack:
            return self._put(value, key)
        self.value = value
        return None

    def _put(self, value: Any, key: str) -> Callable[[], Any] | None:
        """Put a value where it belongs, and read what follows it."""
        container, _, end, _ = self._stack[-1]
        if end == "}":
            container[key] = value
        else:
            container.append(value)
        match = self._grammar.after.match(self._text, self._position, self._limit)
        if match is None:
            return None
        self._position = match.end()
        if match[1] != ",":
            return self._close if match[1] == end else None
        if self._grammar.trailing_comma:
            return self._read_key_or_end if end == "}" else self._read_value_or_end
        return self._read_key if end == "}" else self._read_value
