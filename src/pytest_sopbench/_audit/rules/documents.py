"""Rules about tool-less domains: the schema, the documents that are expected, and the paths."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_sopbench._audit.model import Finding, Place, error, warning
from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._core.documents.schema import (
    Declared,
    DocumentRules,
    Path,
    PathPatterns,
    Violation,
)
from pytest_sopbench._core.values.json import JsonValue

_DEPTH: Final = 12
_PLACES: Final = 5_000
# Letters of other scripts that look like a Latin one; what NFKC knows needs no entry.
_ALIKE: Final = str.maketrans(
    "\u0410\u0412\u0415\u0417\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"
    "\u0430\u0435\u0456\u0458\u043e\u0440\u0441\u0443\u0445"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf",
    "ABE3IJKMHOPCTYXaeijopcyxABEZHIKMNOPTYXo",
)


@error(
    "expected-breaks-schema",
    "An expected document breaks the schema, so that no answer can match it.",
)
def _expected_breaks(subject: Subject) -> Iterator[Finding]:
    for rules, position, violations in _broken(subject):
        compared = [one for one in violations if not rules.ignored_patterns.match(one.about)]
        if compared:
            yield _breach(subject, position, compared[0], "correct the answer or the schema")


@warning(
    "ignored-breaks-schema", "An expected document breaks the schema at paths that are ignored."
)
def _ignored_breaks(subject: Subject) -> Iterator[Finding]:
    for rules, position, violations in _broken(subject):
        if all(rules.ignored_patterns.match(one.about) for one in violations):
            do = "the path is ignored, so an answer can match; the schema still binds every answer"
            yield _breach(subject, position, violations[0], do)


def _broken(subject: Subject) -> Iterator[tuple[DocumentRules, int, Sequence[Violation]]]:
    rules = subject.domain.document
    for position, task in enumerate(subject.tasks if rules else ()):
        violations = rules.validator.violations(task.expected) if rules else ()
        if rules and violations:
            yield rules, position, violations


def _breach(subject: Subject, position: int, first: Violation, do: str) -> Finding:
    task = subject.tasks[position]
    what = f"{task.id}: {first.place} breaks {first.keyword} {first.demand}".rstrip()
    return Finding(
        place=Place(file=subject.data_file, line=subject.line(position), column="expected"),
        what=f"{what}: {first.value}",
        do=do,
    )


@error("look-alike-value", "A value of the schema is written in letters that look like others.")
def _look_alikes(subject: Subject) -> Iterator[Finding]:
    rules = subject.domain.document
    for members in _enums(rules.schema) if rules else ():
        seen: dict[str, str] = {}
        for member in members:
            skeleton = unicodedata.normalize("NFKC", member).translate(_ALIKE)
            twin = seen.setdefault(skeleton, member)
            if twin != member or (skeleton != member and skeleton.isascii()):
                other = twin if twin != member else skeleton
                yield Finding(
                    place=Place(file=rules.schema_name if rules else ""),
                    what=f"the value {member!a} of the schema looks like {other!a}",
                    do="write it in the letters that an answer will have, or tell the two apart",
                )


def _enums(schema: JsonValue) -> Iterator[Sequence[str]]:
    """Yield the texts of each `enum` and `const` of a schema, once for each place."""
    if isinstance(schema, Mapping):
        for key in ("enum", "const"):
            held = schema.get(key)
            values = held if isinstance(held, list) else [held]
            texts = [one for one in values if isinstance(one, str)]
            if texts:
                yield texts
        for key, inner in schema.items():
            if key not in {"enum", "const", "default", "examples"}:
                yield from _enums(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _enums(inner)


@error("no-such-path", "A path of the metadata is in no document, or is ordered and no list.")
def _no_such_path(subject: Subject) -> Iterator[Finding]:
    rules = subject.domain.document
    if rules is None:
        return
    keys = {
        "ignored_paths": rules.ignored,
        "ordered_paths": rules.ordered,
        "roles": tuple(rules.roles),
    }
    places = list(_places(rules, subject))
    for key, texts in keys.items():
        for text in texts:
            fits = [value for path, value in places if PathPatterns((text,)).match(path)]
            if not fits:
                what, do = "neither the schema nor an expected answer has it", "correct the path"
            elif key == "ordered_paths" and not any(fits):
                what, do = "no list stands there", "only lists have an order"
            else:
                continue
            place = Place(file=subject.metadata_file, column=key)
            yield Finding(place=place, what=f"the path {text!r}: {what}", do=do)


def _places(rules: DocumentRules, subject: Subject) -> Iterator[tuple[Path, bool]]:
    """Yield every path that there can be, and whether a list may stand there."""
    left = _PLACES
    waiting: list[tuple[Path, Declared]] = [((), rules.declared)]
    for path, schema in waiting:
        for name in sorted(schema.names):
            inner = schema.inside(name)
            yield (*path, name), inner.may_be_list
            left -= 1
            if left > 0 and len(path) < _DEPTH:
                waiting += [((*path, name), inner), ((*path, name), inner.items)]
    for task in subject.tasks:
        yield from _written(task.expected, ())


def _written(value: JsonValue, path: Path) -> Iterator[tuple[Path, bool]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield (*path, key), isinstance(inner, list)
            yield from _written(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from _written(inner, path)
