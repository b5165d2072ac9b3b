"""What is listed: domains, the steps of an SOP, the runs of a session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Compare, OutputField
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.steps import Procedure, Step
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.misses import DIRECTION, LIMIT, MissGroups, namer

from .text import LABEL_WIDTH, WIDTH, counted, cut, labelled, one_line, shell_word

# The domains that were found, for `sopbench list`.

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
    if domain.state is not None:
        yield from _said("judged", "answer, state")
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


# The runs of a session that somebody should look at; those that went wrong alike share a line.


def listed_runs(
    records: Sequence[RunRecord],
    *,
    limit: int | None = LIMIT,
    session: str = "last",
    width: int = WIDTH,
) -> Iterator[str]:
    """Yield the runs that are not correct, then those that are and broke a rule.

    Args:
        records: every run of the session.
        limit: how many kinds of each are listed; with `None` all of them, and all of their tasks.
        session: what the session was asked for by.
        width: columns of a line.
    """
    others = MissGroups(one for one in records if one.outcome is not Outcome.CORRECT)
    broke = MissGroups(
        one
        for one in records
        if one.outcome is Outcome.CORRECT and any(rule.broken for rule in one.rules)
    )
    named = namer([one.key for one in records])
    runs, said = counted(len(records), "run"), f" ({DIRECTION})" if others.has_differences() else ""
    yield f"{len(others)} of {runs} {'is' if len(others) == 1 else 'are'} not correct{said}"
    lines = [*others.lines(limit=limit, width=width, named=named)]
    if len(broke):
        lines.append(f"{counted(len(broke), 'run is', 'runs are')} correct and broke a rule")
        lines += broke.lines(limit=limit, width=width, named=named)
    yield from lines
    if any(line.endswith(" more") or line.startswith("and ") for line in lines):
        yield "--all names every one of them"
    if len(others) or len(broke):
        yield f"one in full: sopbench show {shell_word(session)} TASK"


# The steps of an SOP, as `sopbench list --steps` prints them.

SHOWN_LINES = 2
"""First lines of each step's text."""


def step_lines(name: str, procedure: Procedure) -> Iterator[str]:
    """Yield what a reader needs to see whether these are the steps."""
    if not procedure.steps:
        yield f"{name}: no steps: {procedure.why_not}"
        return
    general = [line for line in procedure.general.split("\n") if line.strip()]
    steps = counted(len(procedure.steps), "step")
    rest = f"; {counted(len(general), 'line holds', 'lines hold')} for all of them"
    yield f"{name}: {steps}, from {procedure.source}{rest if general else ''}"
    width = max(len(step.number) for step in procedure.steps)
    for step in procedure.steps:
        yield from _step(step, width)
    for warning in procedure.warnings:
        yield f"warning: {one_line(warning)}"


def _step(step: Step, width: int) -> Iterator[str]:
    marks = [f"approval {moment}" for moment in step.approvals]
    marks += [f"jumps to {', '.join(step.jumps)}"] if step.jumps else []
    told = f"   [{'; '.join(marks)}]" if marks else ""
    yield f"  {one_line(step.number):>{width}}  {one_line(step.title)}{told}"
    lines = [line.strip() for line in step.text.split("\n") if line.strip()]
    # The first line is the heading, unless it is all there is.
    for line in lines[1 : SHOWN_LINES + 1]:
        yield cut(f"  {'':{width}}    {one_line(line)}", WIDTH)
