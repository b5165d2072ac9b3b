"""The answer to one task, read out of a text: marks, lines, and what stands after them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from pytest_sopbench._core.fields.values import (
    FieldNames,
    value_key,
)
from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._core.model.trace import AnswerForm
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench._core.values.patterns import Dialect
from pytest_sopbench._core.values.text import fold, is_empty

from .after import Afterwards, corrections, meant, quoted, told_beside
from .echoes import SHORTEST, Echoes
from .lines import LONGEST, find_runs
from .text import BLANK, CONTAINERS, HOLDERS, Element, plain_html, see
from .values import (
    GENERIC,
    LONGEST_LABEL,
    Candidate,
    Reading,
    bare_value,
    decoded,
    failure_in,
    is_call,
    is_example,
    is_labelled,
    is_of_tool,
    is_placeholder,
    is_title,
    labels_of,
    leads_in_no_answer,
    plain_value,
    settled,
)

# One text: the marks in it, the runs of lines, and what stands after them.


@dataclass(frozen=True, slots=True)
class Found:
    """The answer, or the best of what falls short of one, and what spoke against an answer."""

    answer: Candidate | None = None
    short: Candidate | None = None
    against: str = ""


_KEYS: Final = frozenset({*HOLDERS, "outputs", "results", "data"})
_OF_CALLS: Final = frozenset(("tool", "tool name", "function", "function name"))
"""Keys of an object that asks for a tool."""

_TOOL_CALL: Final = re.compile(
    r"<(?:tool_?calls?|function_?calls?|tool_use|invoke)\b[^<>]{0,80}>|^[ \t>*_`-]*action input\b"
    r"|^[ \t>*_`-]*calling `?\w+_\w+",
    re.IGNORECASE | re.MULTILINE,
)
"""A call of a tool: whoever makes one has not come to the end."""

_KEYED: Final = re.compile(r"""([{,]\s*)?["']([^"'\n]{1,60})["']\s*:\s*\[?\s*$""")
_NEAR: Final = 500
"""Characters before an object in which its key may stand, with blanks behind it."""

_GOES_ON: Final = re.compile(r"(?:[*`)]|</[^<>\n]{1,80}>)*(?:\n```[ \t]*\n)?[ \t]*([^\W\d_])")
_BEFORE_MARK: Final = re.compile(r"(?:[\s`*(\[$\\]|<[^<>\n]{1,80}>|```\w{0,12})+$")
_INSTEAD: Final = re.compile(
    r"\b(?:n?or|neither|otherwise|not|never|if|than|would|would be|could be|instead of|versus|vs)$",
    re.IGNORECASE,
)
_CALLED: Final = re.compile(r"([A-Za-z_]\w*)\(\s*$|[\w)\]\"'] *==[ \t]*\Z")
"""What is handed to a function is its argument, unless the function gives the answer."""

_ANSWERING: Final = frozenset(
    ("answer", "final answer", "submit", "finish", "respond", "return", "print", "dict", "output",
     "submit answer", "json dumps", "dumps", "complete", "done")
)  # fmt: skip
_ASKED: Final = re.compile(r"[`*)\"']{0,4}(?:\?|,? but\b|,? or\b)", re.IGNORECASE)
_CHILD: Final = re.compile(r"<(\w{1,80})>([^<>]*)</\1>")
"""One item of a list that is written in tags: `<item>moisture</item>`."""

_ITEMS: Final = frozenset(("item", "li", "value", "entry", "element"))

_FEW_WORDS: Final = re.compile(r"[\w.'*-]+(?: [\w.'*-]+){0,2}")
_OPENS, _CLOSES = "\"'\u201c\u2018\u201e\u00ab", "\"'\u201d\u2019\u201c\u00bb"
_BOXED: Final = re.compile(r"\\boxed[ \t]*\{((?:[^{}\n]|\{[^{}\n]*\})*+)\}")
_BOXED_NAME: Final = re.compile(r"\s*([^\n:=]{1,80}?)\s*[:=](?!=)\s*(.*)")
_ENDS: Final = (".", "!", ":", "*", "|", ")", "\uff1a", "\u3002", *"0123456789")
_MOST_BOXES: Final = 50
_LATEX: Final = re.compile(
    r"\\(?:text|textbf|textit|texttt|mathrm|mathbf|mathsf)[ \t]*\{([^{}]*)\}|\\([_%&#$ ])"
)


_KINDS: Final[Mapping[str, str]] = {
    AnswerForm.FINAL_OUTPUT: "element", AnswerForm.FINAL_DECISION: "element",
    AnswerForm.FIELD_TAGS: "element", AnswerForm.JSON: "object", AnswerForm.PYTHON: "object",
    AnswerForm.BOXED: "boxed",
}  # fmt: skip


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
        self._afterwards = Afterwards(names, required)
        self._echoes = Echoes(self.text, sop)
        # Unless an output field is called so.
        self._may_tell_failure = names.folded.isdisjoint(("success", "error"))

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
                against = self._contradicted(one, last, self.required) if is_alike else ""
                return Found(None if against else last, last, against)
            unread = (
                one.unread
                or next(iter(self._open(one)), "")
                or told_beside(one.beside, self.required)
            )
            if unread:
                return Found(None, short, f"the last mark says {quoted(unread)}")
            if self.missing(one):
                short = min((one, short), key=lambda it: len(self.missing(it)) if it else 99)
                continue
            against = self._against(one, is_marked=True) or self._before(one, is_marked=True)
            if against:
                return Found(None, one, against)
            last = one
        if last:
            return Found(last, last)
        one, earlier = self._unmarked()
        if one is None:
            return Found(None, short)
        against = (
            self._against(one, is_marked=False)
            or self._before(one, is_marked=False)
            or self._run_before(earlier, one)
        )
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

    def _contradicted(
        self, earlier: Candidate, later: Candidate, fields: Sequence[OutputField]
    ) -> str:
        """Return the earlier of two answers that differ, if no word says that one corrects it."""
        is_corrected = any(corrections(self.text[earlier.end : later.start]))
        if is_corrected or not self._differ((earlier, later), fields):
            return ""
        return f"before the answer stands another, {quoted(str(dict(earlier.values)))}"

    def _differ(self, marks: Sequence[Candidate], fields: Sequence[OutputField]) -> bool:
        """Whether marks give a field different values, as fields compare them."""
        return any(
            len({value_key(it, settled(it, to_json_value(one.values[it.name]))) for one in marks})
            > 1
            for it in fields
        )

    def _run_before(self, runs: Iterable[Candidate], later: Candidate) -> str:
        """Return the last of these runs if it gives other values, and nothing corrects them."""
        for run in runs:
            # Two wordings may mean the same; if every field takes any words, they are compared.
            exact = [
                it
                for it in self.required
                if plain_value(it, str(run.values[it.name]))[1] is Reading.EXACT
            ]
            return self._contradicted(run, later, exact or self.required)
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
            for match in [*_BOXED.finditer(self.text)][-_MOST_BOXES:]:
                # Commands may stand in commands.
                words = _LATEX.sub(r"\1\2", _LATEX.sub(r"\1\2", match[1]))
                named = _BOXED_NAME.fullmatch(words)
                if named and fold(named[1]) in (*self.names.folded, *GENERIC):
                    words = named[2]
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
        called = _CALLED.search(before)
        is_argument = called and fold(called[1] or "") not in _ANSWERING
        is_argument = is_argument or is_of_tool(self._without_names(line))
        if is_argument or (_INSTEAD.search(line) and not is_below):
            return False
        if line and not is_below and is_example(line):
            return False
        leads = line.rstrip("*_ ").endswith((":", "\uff1a")) or (
            is_below and (line.startswith("#") or is_title(line) or is_call(line))
        )
        return not (leads and leads_in_no_answer(line))

    def _without_names(self, line: str) -> str:
        """Return a line without the names of fields and without tags."""
        return re.sub(rf"<[^<>\n]{{1,80}}>|{self.names.pattern}", "", line, flags=re.IGNORECASE)

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
        if known is not None and known.type is FieldType.LIST:
            source = self.seen.source[one.inner_start : one.inner_end]
            names = {*_ITEMS, *_singular(name)}
            if any(fold(one[1]) in names for one in _CHILD.finditer(source)):
                # Some items in tags and some beside them are no list.
                items = _items_in_tags(source)
                is_list = items and not is_placeholder(known, items)
                return (items, "") if is_list else (value, source.strip(BLANK))
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
            is_unknown = is_label and not self._afterwards.other_label(value, frozenset())
            return value, "" if is_unknown else value
        return (value if reading is Reading.ANY_WORDS else read), ""

    def _objects(self, holders: Sequence[Element]) -> Iterator[Candidate]:
        """Yield what each object says."""
        ends = sorted((one.start, one.inner_end, one) for one in holders if one.closed)
        for dialect, one in self.seen.objects:
            key = _KEYED.search(self.text[max(one.start - _NEAR, 0) : one.start].rstrip()[-90:])
            if (key and fold(key[2]) not in _KEYS) or not self._is_mark(one.start, one.end):
                continue
            if not self.names.folded.issuperset(_OF_CALLS.intersection(map(fold, one.value))):
                # It asks for a tool.
                continue
            said = self._said(one.value, is_bare=dialect is Dialect.LITERAL)
            if said is None:
                continue
            values, beside, unread = said
            if key and key[1]:
                # Its own object is cut off, or cannot be read, and may say more of it.
                unread = f"{key[0]} {self.text[one.start : one.end]}"
            at = bisect_left(ends, (one.start,)) - 1
            around = ends[at][2] if at >= 0 and ends[at][1] >= one.end else None
            form = AnswerForm.JSON if dialect is Dialect.JSON else AnswerForm.PYTHON
            if around:
                form = (
                    AnswerForm.FINAL_OUTPUT
                    if around.name == CONTAINERS[0]
                    else AnswerForm.FINAL_DECISION
                )
            yield Candidate(
                form=form, start=one.start, end=one.end, values=values, beside=beside, unread=unread
            )

    def _said(
        self, value: Mapping[str, Any], *, is_bare: bool
    ) -> tuple[Mapping[str, JsonValue], Mapping[str, JsonValue], str] | None:
        """Return the fields that an object has, itself or under keys that hold an answer."""
        short = None
        whole: list[tuple[Mapping[str, JsonValue], Mapping[str, JsonValue]]] = []
        wrong = ""
        level: list[Mapping[str, Any]] = [value]
        while level and not whole:
            for one in level:
                values, beside = self.names.split(one)
                wrong = wrong or self.names.contradicted(one)
                wrong = wrong or (failure_in(beside) if self._may_tell_failure else "")
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
        if wrong:
            return {}, {}, wrong
        if any(values != whole[0][0] for values, _ in whole):
            return {}, {}, str(value)[:LONGEST_LABEL]
        return (*whole[0], "") if whole else short

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

    def _unmarked(self) -> tuple[Candidate | None, Iterable[Candidate]]:
        """Return the last unmarked answer, and the runs of lines before it."""
        text = _transparent(self.text).strip()
        whole = self._value_alone("", text)
        if whole:
            return whole, ()
        runs = (
            one
            for one in find_runs(self.text, self.names, self.required)
            if not self._echoes.holds(one.start, one.end, dict(one.values))
        )
        for one in runs:
            return one, runs
        before, gap, last = text.rpartition("\n\n")
        return (self._value_alone(before.rstrip(), last.strip("# ")) if gap else None), ()

    def _value_alone(self, before: str, words: str) -> Candidate | None:
        """Return the whole text as a value, or a last block as a label that is the only one."""
        field = self._single
        value, reading = plain_value(field, words) if field else ("", Reading.NONE)
        # `None` is also what a broken agent says.
        if field is None or reading is not Reading.EXACT or is_empty(value):
            return None
        if before:
            lines = [it for it in before.split("\n") if it.strip()]
            lead = lines[-1] if lines else ""
            is_over = lead.endswith(_ENDS) or lead.startswith("#")
            is_other = any(
                it.endswith((":", "\uff1a")) and leads_in_no_answer(it) for it in lines[-2:]
            )
            chosen = frozenset({meant(field, value)})
            if (
                not is_labelled(field)
                or not is_over
                or is_other
                or self._afterwards.other_label(before, chosen)
            ):
                return None
        return Candidate(
            form=AnswerForm.WHOLE_TEXT,
            start=max(self.text.rfind(value), 0),
            end=len(self.text),
            values={field.name: value},
        )

    # --- afterwards

    def _before(self, one: Candidate, *, is_marked: bool) -> str:
        """Return what stands before an answer and concludes another, or nothing."""
        if self.depth:
            return ""
        before = self.text[max(one.start - LONGEST, 0) : one.start].replace(BLANK, " ")
        return self._afterwards.before(one, before, is_marked=is_marked)

    def _against(self, one: Candidate, *, is_marked: bool) -> str:
        """Return what stands after an answer and speaks against it, or nothing."""
        if goes_on := _TOOL_CALL.search(self.seen.source, one.end):
            return f"after the answer stands {quoted(goes_on[0])}"
        prose = None if is_marked else self._rest(max(one.over, one.end))
        return self._afterwards.against(one, self._rest(one.end), prose)

    def _rest(self, end: int) -> str:
        """Return what stands after an answer, without passages of the SOP."""
        parts: list[str] = []
        for one in self._echoes.passages:
            if one.end > end and one.words >= 2 * SHORTEST:
                parts.append(self.text[end : max(one.start, end)])
                end = max(end, one.end)
        return "\n".join((*parts, self.text[end:])).replace(BLANK, " ")


def _singular(name: str) -> Iterator[str]:
    """Yield what one item of a list of this name may be called: `roles`, `missing_entries`."""
    words = fold(name).split()
    for end, single in (("ies", "y"), ("es", ""), ("s", "")):
        if words[-1].endswith(end):
            one = words[-1].removesuffix(end) + single
            yield one
            yield " ".join((*words[:-1], one))


def _items_in_tags(inside: str) -> list[JsonValue]:
    """Return the items of a list whose tags have one name and nothing beside them; else none."""
    found = [*_CHILD.finditer(inside)]
    if len({one[1] for one in found}) != 1 or _CHILD.sub("", inside).strip():
        return []
    items: list[JsonValue] = [bare_value(decoded(one[2])) for one in found]
    return items if all(items) else []


def _transparent(text: str) -> str:
    return plain_html(text).replace(BLANK, "")
