"""The domains that were found, for `--sop-list` and `sopbench list`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Compare, OutputField
from pytest_sopbench._reports.text.layout import LABEL_WIDTH, WIDTH, cut, labelled, one_line
from pytest_sopbench._reports.text.numbers import counted

NOTHING_BROKEN: Mapping[str, str] = {}
NEVER_AUDITED: Mapping[str, str] = {}

_INDENT = "  "
_VALUES_LINES = 6


def listing_lines(
    domains: Sequence[Domain],
    *,
    broken: Mapping[str, str] = NOTHING_BROKEN,
    audits: Mapping[str, str] = NEVER_AUDITED,
    verbosity: int = 0,
) -> Iterator[str]:
    """Yield some lines for each domain, in the order given.

    With `verbosity` above 0 the folder, the inputs, the tools, and for each output field its
    type, whether that was declared or inferred, and its values; below 0 one line.

    Args:
        domains: those that can be used.
        broken: name and problem of those that cannot.
        audits: name and result of those whose audit was saved.
        verbosity: pytest's.
    """
    if not domains and not broken:
        yield "no domain found; sop_paths says in which folders domains lie"
    for number, domain in enumerate(domains):
        if number and verbosity >= 0:
            yield ""
        yield from _domain_lines(domain, verbosity)
        if verbosity > 0 and (found := audits.get(domain.name)):
            yield from _said("audit", found)
    for name, problem in broken.items():
        if domains and verbosity >= 0:
            yield ""
        yield cut(one_line(name), WIDTH)
        yield from _said("problem", problem)


def _domain_lines(domain: Domain, verbosity: int) -> Iterator[str]:
    title = f"  {one_line(domain.title)}" if domain.title else ""
    tasks = counted(len(domain.task_ids), "task")
    if verbosity < 0:
        yield cut(f"{domain.name}  {tasks}{title}", WIDTH)
        return
    yield cut(f"{domain.name}{title}", WIDTH)
    facts = [tasks, counted(len(domain.tool_specs), "tool"), domain.licence or "no licence stated"]
    yield from _said("holds", ", ".join(one_line(fact) for fact in facts))
    outputs = _outputs(domain)
    if verbosity == 0:
        yield from _said("outputs", ", ".join(outputs))
        if domain.warnings:
            yield from _said("warns", f"{counted(len(domain.warnings), 'warning')}; -v shows them")
        return
    yield from _detail_lines(domain)


def _outputs(domain: Domain) -> Iterable[str]:
    if domain.document is not None:
        return (_document(domain.document),)
    return (f"{one_line(field.name)} ({_type(field)})" for field in domain.fields)


def _document(rules: DocumentRules) -> str:
    keys = counted(len(rules.declared.names), "key")
    kind = f", class {one_line(rules.domain_class)}" if rules.domain_class else ""
    return f"a JSON document of {keys}, by {one_line(rules.schema_name)}{kind}"


def _detail_lines(domain: Domain) -> Iterator[str]:
    # Never wrapped: a path is there to be copied.
    yield f"{_INDENT}{'folder':<{LABEL_WIDTH}}{one_line(str(domain.folder))}"
    yield from _said("inputs", ", ".join(domain.input_columns))
    yield from _said("tools", ", ".join(spec.name for spec in domain.tool_specs))
    if domain.document is not None:
        yield from _said("outputs", _document(domain.document))
    for number, field in enumerate(domain.fields):
        yield from _said("" if number else "outputs", _field(field), lines=_VALUES_LINES)
    for warning in domain.warnings:
        yield from _said("warning", warning)


def _field(field: OutputField) -> str:
    parts = [f"{field.name}: {_type(field)}", "declared" if field.declared else "inferred"]
    if field.private:
        parts.append("private")
    if field.tolerance:
        parts.append(f"tolerance {field.tolerance:g}")
    if field.ordered:
        parts.append("ordered")
    said = ", ".join(parts)
    if field.private:
        return said
    values = f" - {', '.join(field.values)}" if field.values else ""
    aliases = ", ".join(f"{alias} for {label}" for alias, label in field.aliases.items())
    return f"{said}{values}{f'; aliases: {aliases}' if aliases else ''}"


def _type(field: OutputField) -> str:
    if field.compare is not Compare.EXACT:
        return f"{field.type.value}, {field.compare.value}"
    count = f" of {len(field.values)}" if field.values else ""
    return f"{field.type.value}{count}"


def _said(label: str, text: str, *, lines: int = 0) -> Iterator[str]:
    room = WIDTH - len(_INDENT)
    return (f"{_INDENT}{line}" for line in labelled(label, one_line(text), width=room, lines=lines))
