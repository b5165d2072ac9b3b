"""The answer to one task, read out of a text: marks, lines, and what stands after them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, cast

from pytest_sopbench._core.fields.values import (
    FieldNames,
    label_of,
    name_pattern,
    read_boolean,
    value_key,
)
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._core.model.trace import AnswerForm
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench._core.values.patterns import Dialect
from pytest_sopbench._core.values.text import fold, is_empty

from .lines import find_runs
from .text import (
    BLANK,
    CONTAINERS,
    HOLDERS,
    SHORTEST,
    Echoes,
    Element,
    bare_value,
    decoded,
    plain_html,
    see,
    without_end,
)
from .values import (
    GENERIC,
    LONGEST_LABEL,
    Candidate,
    Reading,
    is_example,
    is_labelled,
    is_placeholder,
    labels_of,
    leads_in_no_answer,
    plain_value,
    settled,
)

RETRACTIONS: Final = (
    "above is invalid", "above is wrong", "above was wrong", "actually", "answer is invalid",
    "answer is wrong",
    "apologies", "apologize", "as void", "cancel that", "correction", "could not complete",
    "disregard", "do not rely on this", "do not use the above", "do not use these",
    "do not use this", "does not hold", "doesn't hold", "don't rely on this",
    "don't use the above", "don't use these", "don't use this", "forget that", "forget this",
    "have to revise", "have to take this back", "hmm", "hold on", "I made an error",
    "I overlooked", "I was wrong", "ignore", "incorrect", "is not right", "is only preliminary",
    "is preliminary", "is provisional", "is void", "isn't right", "looking again", "mistake",
    "mistaken", "must not be used", "must revise", "never mind", "nevermind", "no longer",
    "not complete the task", "not final", "on second look", "on second thought", "oops",
    "prompt injection", "reconsider", "retract", "scratch that", "strike that", "superseded",
    "take it back", "take that back", "take this back", "that is wrong", "that was wrong",
    "this is wrong", "this was wrong", "to show the format", "unable to complete", "wait",
    "withdraw", "withdrawn", "wrong case",
)  # fmt: skip
"""Words after an answer that take it back."""

_QUOTE: Final = 60

# One text: the marks in it, the runs of lines, and what stands after them.


@dataclass(frozen=True, slots=True)
class Found:
    """The answer, or the best of what falls short of one, and what spoke against an answer."""

    answer: Candidate | None = None
    short: Candidate | None = None
    against: str = ""


_KEYS: Final = frozenset({*HOLDERS, "results", "data", "final"})
_KEYED: Final = re.compile(r"""["']([^"'\n]{1,60})["']\s*:\s*\[?\s*$""")
_GOES_ON: Final = re.compile(r"(?:[*`)]|</[^<>\n]{1,80}>)*(?:\n```[ \t]*\n)?[ \t]*([^\W\d_])")
_BEFORE_MARK: Final = re.compile(r"(?:[\s`*(\[$\\]|<[^<>\n]{1,80}>|```\w{0,12})+$")
_INSTEAD: Final = re.compile(
    r"\b(?:or|otherwise|not|never|if|than|would|would be|could be|instead of|versus|vs)$",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(r"[`*)\"']{0,4}\?")
_FEW_WORDS: Final = re.compile(r"[\w.'*-]+(?: [\w.'*-]+){0,2}")
_OPENS, _CLOSES = "\"'\u201c\u2018\u201e\u00ab", "\"'\u201d\u2019\u201c\u00bb"
_BOXED: Final = re.compile(r"\\boxed[ \t]*\{((?:[^{}\n]|\{[^{}\n]*\})*+)\}")
_LATEX: Final = re.compile(
    r"\\(?:text|textbf|textit|texttt|mathrm|mathbf|mathsf)[ \t]*\{([^{}]*)\}|\\([_%&#$ ])"
)


class Reader:
    """Reads the answer out of one text."""

    def __init__(
        self,
        text: str,
        names: FieldNames,
        required: Sequence[OutputField],
        sop: str,
        depth: int = 0,
    ) -> None:
        self.seen = see(text, names)
        self.text = self.seen.text
        self.names = names
        self.required = required
        self.depth = depth
        self._fields = {one.name: one for one in required}
        self._single = required[0] if len(required) == 1 else None
        self._echoes = Echoes(self.text, sop)

    def find(self) -> Found:
        """Return the last whole mark, or else the last run, unless what follows is against it."""
        short: Candidate | None = None
        last: Candidate | None = None
        for mark in sorted(self._marks(), key=lambda one: one.end, reverse=True):
            if last and mark.end > last.start:
                continue
            one = self._resolved(mark) if mark.inside else mark
            if one is None or self._says_nothing(one):
                continue
            if last:
                is_whole = not one.unread and not self.missing(one)
                is_alike = is_whole and _KINDS.get(one.form) == _KINDS.get(last.form)
                against = self._contradicted(one, last) if is_alike else ""
                return Found(None if against else last, last, against)
            unread = one.unread or next(iter(self._open(one)), "")
            if unread:
                return Found(None, short, f"the last mark says {quoted(unread)}")
            if self.missing(one):
                short = min((one, short), key=lambda it: len(self.missing(it)) if it else 99)
                continue
            against = self._against(one, is_marked=True) or self._lines_before(one)
            if against:
                return Found(None, one, against)
            last = one
        if last:
            return Found(last, last)
        one = self._unmarked()
        if one is None:
            return Found(None, short)
        against = self._against(one, is_marked=False)
        return Found(None if against else one, one, against)

    def missing(self, one: Candidate) -> tuple[str, ...]:
        return tuple(it.name for it in self.required if it.name not in one.values)

    def _says_nothing(self, one: Candidate) -> bool:
        """Whether a candidate is an echo of the SOP, or a form that is still to be filled in."""
        if not one.unread and one.values and len(self._open(one)) == len(one.values):
            return True
        return self._echoes.holds(one.start, one.end, [dict(one.values), one.form.split("_")]) or (
            bool(one.beside) and self._echoes.quotes(one.beside)
        )

    def _open(self, one: Candidate) -> list[str]:
        """Return the values that are still to be filled in."""
        values = one.values.items()
        return [str(it) for name, it in values if is_placeholder(self._fields.get(name), it)]

    def _contradicted(self, earlier: Candidate, later: Candidate) -> str:
        """Return the earlier of two answers that differ, if no word says that one corrects it."""
        between = self.text[earlier.end : later.start]
        if not self._differ(earlier, later) or _CORRECTS.search(between):
            return ""
        return f"before the answer stands another, {quoted(str(dict(earlier.values)))}"

    def _differ(self, *marks: Candidate) -> bool:
        """Whether marks give a field different values, as fields compare them."""
        return any(
            len({value_key(it, settled(it, to_json_value(one.values[it.name]))) for one in marks})
            > 1
            for it in self.required
        )

    def _lines_before(self, mark: Candidate) -> str:
        """Return the lines before a mark that give other values, if nothing corrects them."""
        before = self.text[: mark.start]
        runs = () if self.depth else find_runs(before, self.names, self.required)
        for run in runs:
            is_read = all(
                plain_value(it, str(run.values[it.name]))[1] is Reading.EXACT
                for it in self.required
            )
            return self._contradicted(run, mark) if is_read else ""
        return ""

    # --- marks

    def _marks(self) -> Iterator[Candidate]:
        fields = [one for one in self.seen.elements if one.name in self.names.folded]
        holders = [one for one in self.seen.elements if one.name not in self.names.folded]
        objects = [*self._objects(holders)]
        yield from objects
        yield from self._tagged(fields, holders, objects)
        closed = [one.start for one in (*fields, *holders) if one.closed]
        starts = sorted([*closed, *(one.start for one in objects)])
        for one in holders:
            at = bisect_left(starts, one.inner_start)
            if (at < len(starts) and starts[at] < one.inner_end) or not self._is_mark(
                one.start, one.end
            ):
                continue
            form = (
                AnswerForm.FINAL_OUTPUT if one.name == CONTAINERS[0] else AnswerForm.FINAL_DECISION
            )
            if one.closed or self._is_cut_off(self._single, one):
                yield Candidate(form=form, start=one.start, end=one.end, inside=one)
        if self._single and "\\boxed" in self.text:
            for match in _BOXED.finditer(self.text):
                words = _LATEX.sub(r"\1\2", match[1])
                value, reading = plain_value(self._single, words)
                if self._is_mark(match.start(), match.end()):
                    is_read = reading is not Reading.NONE
                    yield Candidate(
                        form=AnswerForm.BOXED,
                        start=match.start(),
                        end=match.end(),
                        values={self._single.name: value} if is_read else {},
                        unread="" if is_read else words or "nothing",
                    )

    def _is_mark(self, start: int, end: int) -> bool:
        """Whether a mark is not quoted, no part of a sentence, and not led in as something else."""
        text = self.text
        if start and text[start - 1] in _OPENS and text[end : end + 1] in [*_CLOSES]:
            return False
        if _ASKED.match(text, end):
            return False
        goes_on = _GOES_ON.match(text, end)
        if goes_on and goes_on[1].islower():
            return False
        before = text[max(start - 300, 0) : start].replace(BLANK, "")
        is_below = "\n" in (gap[0] if (gap := _BEFORE_MARK.search(before)) else "")
        line = _BEFORE_MARK.sub("", before).rpartition("\n")[2]
        if _INSTEAD.search(line) and not is_below:
            return False
        if line and not is_below and is_example(line):
            return False
        leads = line.rstrip("*_ ").endswith((":", "\uff1a")) or (is_below and line.startswith("#"))
        return not (leads and leads_in_no_answer(line))

    def _is_cut_off(self, field: OutputField | None, one: Element) -> bool:
        """Whether an element that is never closed holds a label; prose names tags too."""
        if field is None or not is_labelled(field):
            return False
        inside = decoded(self.text[one.inner_start : one.inner_end])
        return plain_value(field, inside)[1] is Reading.EXACT

    def _tagged(
        self, fields: Sequence[Element], holders: Sequence[Element], objects: Sequence[Candidate]
    ) -> Iterator[Candidate]:
        """Yield what the tags of fields say that stand together; a field said again begins anew."""
        ends = [(place, None) for one in holders if one.closed for place in (one.start, one.end)]
        group: dict[str, tuple[Element, JsonValue, str]] = {}
        past = 0
        for _, one in sorted([*ends, *((it.start, it) for it in fields)], key=lambda it: it[0]):
            name = self.names.field_of(one.name) if one else None
            if one is None or name in group:
                yield from self._together(group)
                group = {}
            if (
                one is None
                or name is None
                or one.start < past
                or not self._is_mark(one.start, one.end)
            ):
                continue
            if not one.closed and not self._is_cut_off(self._fields.get(name), one):
                continue
            past = one.end
            group[name] = (one, *self._tag_value(name, one, objects))
        yield from self._together(group)

    def _together(self, group: Mapping[str, tuple[Element, JsonValue, str]]) -> Iterator[Candidate]:
        if group:
            yield Candidate(
                form=AnswerForm.FIELD_TAGS,
                start=min(one.start for one, _, _ in group.values()),
                end=max(one.end for one, _, _ in group.values()),
                values={name: value for name, (_, value, _) in group.items()},
                unread=next((unread for _, _, unread in group.values() if unread), ""),
            )

    def _tag_value(
        self, name: str, one: Element, objects: Sequence[Candidate]
    ) -> tuple[JsonValue, str]:
        inside = self.text[one.inner_start : one.inner_end]
        value = bare_value(decoded(inside))
        if value.startswith("{"):
            at = bisect_left(objects, one.inner_start, key=lambda it: it.start)
            if (
                at < len(objects)
                and objects[at].end <= one.inner_end
                and name in objects[at].values
            ):
                return objects[at].values[name], ""
        known = self._fields.get(name)
        if not value and BLANK in inside:
            # What is unseen inside of a tag does not make it an empty one.
            return value, self.seen.source[one.inner_start : one.inner_end].strip(
                BLANK
            ) or "nothing"
        if known is None or not value or is_placeholder(known, value):
            return value, ""
        value = bare_value(_transparent(value)) if is_labelled(known) else value
        read, reading = plain_value(known, value)
        if reading is Reading.NONE:
            # A label that nobody knows is an answer, and a wrong one.
            is_label = labels_of(known) and _FEW_WORDS.fullmatch(value)
            return value, "" if is_label and not self._other_label(value, frozenset()) else value
        return (value if reading is Reading.ANY_WORDS else read), ""

    def _objects(self, holders: Sequence[Element]) -> Iterator[Candidate]:
        """Yield what each object says; of several in one list nobody knows which is meant."""
        last: Candidate | None = None
        ends = sorted((one.start, one.inner_end, one) for one in holders if one.closed)
        for dialect, one in self.seen.objects:
            key = _KEYED.search(self.text[max(one.start - 90, 0) : one.start])
            if (key and fold(key[1]) not in _KEYS) or not self._is_mark(one.start, one.end):
                continue
            said = self._said(one.value, is_bare=dialect is Dialect.LITERAL)
            if said is None:
                continue
            at = bisect_left(ends, (one.start,)) - 1
            around = ends[at][2] if at >= 0 and ends[at][1] >= one.end else None
            form = AnswerForm.JSON if dialect is Dialect.JSON else AnswerForm.PYTHON
            if around:
                form = (
                    AnswerForm.FINAL_OUTPUT
                    if around.name == CONTAINERS[0]
                    else AnswerForm.FINAL_DECISION
                )
            is_next = last is not None and self.text[last.end : one.start].strip() == ","
            values, beside, unread = said
            if last is not None and is_next and values != last.values:
                unread = self.text[last.start : one.end]
            if last is not None:
                yield last
            last = Candidate(
                form=form, start=one.start, end=one.end, values=values, beside=beside, unread=unread
            )
        if last is not None:
            yield last

    def _said(
        self, value: Mapping[str, Any], *, is_bare: bool
    ) -> tuple[Mapping[str, JsonValue], Mapping[str, JsonValue], str] | None:
        """Return the fields that an object has, itself or under keys that hold an answer."""
        short = None
        whole: list[tuple[Mapping[str, JsonValue], Mapping[str, JsonValue]]] = []
        level: list[Mapping[str, Any]] = [value]
        while level and not whole:
            for one in level:
                values, beside = self.names.split(one)
                if is_bare and any(
                    plain_value(self._fields[name], str(it))[1] is not Reading.EXACT
                    for name, it in values.items()
                    if name in self._fields
                ):
                    return None
                if not values and self._single and len(one) == 1:
                    ((key, it),) = one.items()
                    is_value = (
                        isinstance(it, str) and plain_value(self._single, it)[1] is Reading.EXACT
                    )
                    if fold(key) in CONTAINERS and (is_value or isinstance(it, bool)):
                        values = {self._single.name: it}
                if all(it.name in values for it in self.required):
                    whole.append((values, beside))
                elif values and short is None:
                    short = (values, beside, "")
            level = [child for one in level for child in self._children(one)]
        if not whole:
            return short
        if any(values != whole[0][0] for values, _ in whole):
            return {}, {}, str(value)[:LONGEST_LABEL]
        return (*whole[0], "")

    def _children(self, value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        for key, one in value.items():
            if fold(key) not in _KEYS:
                continue
            # What was read is any JSON.
            several: list[Any] = one if isinstance(one, list) else [one]  # pyright: ignore[reportUnknownVariableType]
            child = several[0] if len(several) == 1 else None
            if isinstance(child, dict):
                yield cast("dict[str, Any]", child)

    def _resolved(self, mark: Candidate) -> Candidate | None:
        """Read what stands in an element that holds an answer: a value, or lines."""
        element = mark.inside
        assert element is not None  # noqa: S101 - it is asked for only there
        inside = self.text[element.inner_start : element.inner_end]
        value = bare_value(_transparent(decoded(inside)))
        if is_placeholder(self._single, value) or (not value and self._single is None):
            return None
        if self._single:
            read, reading = plain_value(self._single, value)
            talks = element.name in ("response", "output", "final response", "result")
            if (
                not value
                or reading is Reading.EXACT
                or (reading is Reading.ANY_WORDS and not talks)
            ):
                told = read if reading is Reading.EXACT else bare_value(decoded(inside))
                return replace(mark, values={self._single.name: told}, inside=None)
        lines = Reader(decoded(inside), self.names, self.required, "", 1)
        found = lines.find() if self.depth == 0 else Found()
        if found.answer:
            return replace(mark, values=found.answer.values, inside=None)
        return replace(mark, unread=value or "nothing", inside=None)

    # --- lines

    def _unmarked(self) -> Candidate | None:
        whole = self._whole_text()
        if whole:
            return whole
        for one in find_runs(self.text, self.names, self.required):
            if not self._echoes.holds(one.start, one.end, dict(one.values)):
                return one
        return self._last_block()

    def _whole_text(self) -> Candidate | None:
        if self._single is None:
            return None
        value, reading = plain_value(self._single, _transparent(self.text))
        # `None` is also what a broken agent says.
        if reading is not Reading.EXACT or is_empty(value):
            return None
        return self._alone(self._single, value)

    def _alone(self, field: OutputField, value: str) -> Candidate:
        return Candidate(
            form=AnswerForm.WHOLE_TEXT,
            start=max(self.text.rfind(value), 0),
            end=len(self.text),
            values={field.name: value},
        )

    def _last_block(self) -> Candidate | None:
        """Return a last block that is a label, where no other label occurs."""
        if self._single is None or not is_labelled(self._single):
            return None
        text = self.text.replace(BLANK, "").rstrip()
        before, gap, last = text.rpartition("\n\n")
        value, reading = plain_value(self._single, last.strip().lstrip("#").strip())
        if not gap or reading is not Reading.EXACT or is_empty(value):
            return None
        lead = before.rstrip().rpartition("\n")[2]
        is_sentence = lead.endswith(
            (".", "!", ":", "*", "|", ")", "\uff1a", "\u3002", *"0123456789")
        ) or lead.startswith("#")
        if not is_sentence or (lead.endswith((":", "\uff1a")) and leads_in_no_answer(lead)):
            return None
        chosen = frozenset({_meant(self._single, value)})
        if self._other_label(before, chosen):
            return None
        return self._alone(self._single, value)

    # --- afterwards

    def _against(self, one: Candidate, *, is_marked: bool) -> str:
        """Return what stands after an answer and speaks against it, or nothing."""
        rest = self._rest(one.end)
        if not rest.strip(" \t\n*_`.|$\\])}\u2705" + BLANK):
            return ""
        for found in self._named(rest):
            words, name = found
            if self._says_otherwise(self._fields.get(name), words, one):
                return f"after the answer stands {quoted(words)} for {name}"
        chosen = frozenset(
            _meant(it, value)
            for it in self.required
            if isinstance(value := one.values[it.name], str)
        )
        words = (
            self._other_label(rest, chosen)
            or self._other_outcome(rest, chosen)
            or self._other_amount(rest, one)
            or _found(_TAKEN_BACK, rest)
        )
        if not words and not is_marked:
            rest = _COURTESY.sub(" ", self._rest(max(one.over, one.end)))
            words = _found(_DENIED, rest)
            kinds = {it.type for it in self.required}
            if not words and kinds & {FieldType.NUMBER, FieldType.INTEGER, FieldType.DATE}:
                words = _found(_DIGITS, f"{rest}\n{one.sentences}")
            if not words and FieldType.LIST in kinds:
                words = rest.strip(" \t\n*_`.|-")
        return f"after the answer stands {quoted(words)}" if words else ""

    def _rest(self, end: int) -> str:
        """Return what stands after an answer, without passages of the SOP."""
        parts: list[str] = []
        for one in self._echoes.passages:
            if one.end > end and one.words >= 2 * SHORTEST:
                parts.append(self.text[end : max(one.start, end)])
                end = max(end, one.end)
        return "\n".join((*parts, self.text[end:])).replace(BLANK, " ")

    def _named(self, rest: str) -> Iterator[tuple[str, str]]:
        """Yield what is said of each field by its name: `name: words`, a tag, a key, a cell."""
        for match in _naming(self.names.all, single=self._single is not None).finditer(rest):
            name = self.names.field_of(match["name"]) or (self._single.name if self._single else "")
            is_soft = match["sep"][0].isalpha() or match["sep"] == "=="
            field = self._fields.get(name)
            if field is None:
                continue
            stop = _LINE_END if field.type in (FieldType.LIST, FieldType.TEXT) else _VALUE_END
            words = stop.split(match["words"], maxsplit=1)[0]
            plain = _LEADING.match(words) if is_soft and field.type in _MEASURED else None
            words = plain[1] if plain else words
            reading = plain_value(field, words)[1]
            if is_soft and (reading is not Reading.EXACT or field.type is FieldType.TEXT):
                continue
            bare = bare_value(words.strip("\"'`*_ \t|()[]"))
            if bare and not is_placeholder(field, bare) and not self.names.field_of(bare):
                yield bare, name

    def _says_otherwise(self, field: OutputField | None, words: str, one: Candidate) -> bool:
        if field is None:
            return False
        value = to_json_value(one.values[field.name])
        said = plain_value(field, words)
        if said[1] is Reading.NONE:
            return True
        keys = {value_key(field, words), value_key(field, said[0])}
        return (
            value_key(field, value) not in keys
            and value_key(field, settled(field, value)) not in keys
        )

    def _other_label(self, rest: str, chosen: frozenset[str]) -> str:
        labelled = (one for one in self.required if one.type is not FieldType.BOOLEAN)
        pattern = _label_pattern(
            tuple((one.name, one.values, tuple(one.aliases)) for one in labelled)
        )
        for match in pattern.finditer(rest) if pattern else ():
            words = match[0]
            short = len(words) <= 2 and words.isalpha()  # noqa: PLR2004 - `a` is a word, and `A` a label
            if short and (not words.isupper() or _GOES_ON.match(rest, match.end())):
                continue
            if not any(_meant(it, words) in chosen for it in self.required):
                return words
        return ""

    def _other_outcome(self, rest: str, chosen: frozenset[str]) -> str:
        """Return where something is, or was, what another label asks for: `is rejected`."""
        labels = [one for it in self.required for one in it.values if one.isalpha()]
        forms = {f"{participle}": label for label in labels for participle in _participles(label)}
        pattern = _outcome_pattern(tuple(forms))
        for match in pattern.finditer(rest) if pattern else ():
            before, after = _clause(rest, *match.span())
            is_other = fold(forms[match[1].lower()]) not in chosen
            if is_other and not _SUPPOSED.search(before) and not _ONLY_IF.search(after):
                return match[0]
        return ""

    def _other_amount(self, rest: str, one: Candidate) -> str:
        """Return where the last word of a field's name has another number: `as level 2`."""
        for field in self.required:
            if field.type not in (FieldType.NUMBER, FieldType.INTEGER):
                continue
            for match in _amount_pattern(fold(field.name).split()[-1]).finditer(rest):
                before, _ = _clause(rest, *match.span())
                if not _COMPARED.search(before) and self._says_otherwise(field, match[1], one):
                    return match[0]
        return ""


def _clause(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what stands in one sentence before and after a stretch of it."""
    before = _SENTENCE_END.split(text[max(start - _NEAR, 0) : start])[-1]
    return before, _SENTENCE_END.split(text[end : end + _NEAR], maxsplit=1)[0]


def _participles(label: str) -> tuple[str, ...]:
    word = label.lower()
    if word.endswith("e"):
        return (f"{word}d",)
    return (f"{word[:-1]}ied",) if word.endswith("y") else (f"{word}ed", f"{word}{word[-1]}ed")


def quoted(words: str) -> str:
    """Quote what an agent said in a few words."""
    line = " ".join(ready_to_cut(words[: 4 * LONGEST_LABEL]).replace(BLANK, "").split())
    return repr(line if len(line) <= _QUOTE else f"{line[: _QUOTE - 3]}...")


def _meant(field: OutputField, words: str) -> str:
    return fold(label_of(field.aliases, without_end(words)))


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return text[max(match.start() - 20, 0) : match.end() + 30] if match else ""


_TAKEN_BACK: Final = re.compile(
    rf"\b(?:{'|'.join(RETRACTIONS)})\b".replace("'", "['\u2019]"), re.IGNORECASE
)
_DENIED: Final = re.compile(
    r"\b(?:not|no|never|neither|nor|cannot|\w+n['\u2019]t|unless|if|provided|assuming|depend\w*|"
    r"conditional\w*|subject to|until|otherwise|but|however|although|though|except|whether|would|"
    r"could|might|may|maybe|perhaps|possibly|unclear|unsure|only|pending|alternatively|instead|"
    r"next,? I|I will now|I['\u2019]ll now|let me (?:now|check|look))\b",
    re.IGNORECASE,
)
_KINDS: Final[Mapping[str, str]] = {
    AnswerForm.FINAL_OUTPUT: "element", AnswerForm.FINAL_DECISION: "element",
    AnswerForm.FIELD_TAGS: "element", AnswerForm.JSON: "object", AnswerForm.PYTHON: "object",
    AnswerForm.BOXED: "boxed",
}  # fmt: skip
_DIGITS: Final = re.compile(r"\d")
_CORRECTS: Final = re.compile(
    r"\b(?:correct\w*|revis\w*|updat\w*|re-?check\w*|check\w*|instead|final\w*|mistake\w*|wrong|"
    r"sorry|slip|wait|actually|however|but|after\w*|now|again|looking|therefore|hence|thus|so|"
    r"overrid\w*|chang\w*|should|rather|not|no|hmm)\b",
    re.IGNORECASE,
)
_COURTESY: Final = re.compile(
    r"(?:please|thank|thanks|let me know|feel free|i hope|i am happy|i'm happy|happy to|have a|"
    r"best regards|kind regards|regards|sincerely|if you (?:need|have|want|would|like)|"
    r"end(?: of \w+)?$|done\b|should you|do you|"
    r"would you like|is there anything|shall i|can i help)\b[^\n.!?]*[.!?]?",
    re.IGNORECASE,
)
_NEAR: Final = 200
_SENTENCE_END: Final = re.compile(r"[.!?;\n]")
_SUPPOSED: Final = re.compile(
    r"\b(?:could|would|might|may|if|unless|when|whether|until|had)\b|"
    r"(?:^|,|\band|\bbut)\s*(?:no|none|nothing|neither|nobody)\b",
    re.IGNORECASE,
)
_ONLY_IF: Final = re.compile(r"\b(?:if|unless|when|only)\b", re.IGNORECASE)
_COMPARED: Final = re.compile(
    r"\b(?:not|\w+n['\u2019]t|no|never|could|would|might|may|if|unless|when|than|below|above|under|"
    r"over|from|between|instead of|previous|earlier|first|old|limit|threshold|minimum|maximum)\b",
    re.IGNORECASE,
)
_MEASURED: Final = (FieldType.BOOLEAN, FieldType.NUMBER, FieldType.INTEGER)
_LEADING: Final = re.compile(
    r"[\s\"'`*_]*(true|false|[\u20ac$\u00a3]?[+-]?\d+(?:[.,]\d+)*)(?!\w)", re.IGNORECASE
)
_VALUE_END: Final = re.compile(r"[|;<>{}\n]|,(?!\d)")
_LINE_END: Final = re.compile(r"[|<>{}\n]")


def _transparent(text: str) -> str:
    return plain_html(text).replace(BLANK, "")


@lru_cache(maxsize=64)
def _naming(names: tuple[str, ...], *, single: bool) -> re.Pattern[str]:
    several = sorted({*names, *(GENERIC if single else ())}, key=len, reverse=True)
    return re.compile(
        rf"(?<!\w)(?P<name>{'|'.join(map(name_pattern, several))})(?!\w)"
        r"[\"'`*_ \t]*(?P<sep>:|\uff1a|==|=>?|->|\u2192|\||>|"
        r"\b(?:is|(?:(?:is|was|has been) )?set to|should be|must be|remains)\b)"
        r"(?P<words>[^\n]{0,400})",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _label_pattern(
    fields: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...],
) -> re.Pattern[str] | None:
    labels = {fold(one) for _, values, aliases in fields for one in (*values, *aliases)}
    words = [one for one in labels if not is_empty(one) and read_boolean(one) is None]
    several = "|".join(name_pattern(one) for one in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{several})(?!\w)", re.IGNORECASE) if words else None


@lru_cache(maxsize=64)
def _outcome_pattern(participles: tuple[str, ...]) -> re.Pattern[str] | None:
    return (
        re.compile(
            r"\b(?:is|are|was|were|be|been|being|hereby|set to|I(?:['\u2019]ve| have)?)\s+"
            r"(?:(?:to be|being|hereby|therefore|thus|now|also|clearly)\s+){0,2}"
            rf"({'|'.join(participles)})\b",
            re.IGNORECASE,
        )
        if participles
        else None
    )


@lru_cache(maxsize=64)
def _amount_pattern(word: str) -> re.Pattern[str]:
    return re.compile(
        rf"\b{re.escape(word)}\s+(?:(?:is|was|of|at|to|as)\s+)?"
        r"[\u20ac$\u00a3]?([+-]?\d+(?:[.,]\d+)*)(?!\w)",
        re.IGNORECASE,
    )
