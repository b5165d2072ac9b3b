"""Coverage of an SOP as text, as an object, and as a page beside the procedure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Final

from pytest_sopbench._audit.coverage import ClauseRuns, Coverage, Sides, sop_lines
from pytest_sopbench._audit.observing.covering import EQUAL, HELD, NOT_HELD
from pytest_sopbench._audit.sop_text import SopText
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.html.page import visible
from pytest_sopbench._reports.text import WIDTH, counted, cut, heading, one_line

_FEW: Final = 2
"""Tasks from which on a thing does not hang on a single one."""

_CLAUSE: Final = 8
_BY_TASKS: Final = 12
_BY_RUNS: Final = 26

# What the tasks of a domain exercise.


def coverage_lines(coverage: Coverage, *, every: bool) -> Iterator[str]:
    """Yield what is held by no task or by one; of `every` thing how many tasks hold it."""
    yield heading(f"coverage: {one_line(coverage.name)}")
    yield _source(coverage)
    yield from (f"  the run of the policy ended early: {one}" for one in coverage.problems)
    if coverage.clauses:
        share = f"{coverage.held} of {len(coverage.clauses)}"
        yield f"clauses {share} that the policy or a rule names ({coverage.percent:.1f} %)"
        text = SopText(coverage.sop)
        for name, tasks in coverage.clauses.items():
            if every or tasks < _FEW:
                yield _clause_line(name, f"by {_tasks(tasks)}", text, _BY_TASKS)
    else:
        yield "clauses n/a: neither a policy nor a contract names any"
    if coverage.unnamed:
        yield from _wrapped(f"  named by neither: {', '.join(coverage.unnamed)}")
    yield from _sides_lines(coverage.sides, every=every)
    if coverage.covered:
        yield from _counted("rules", coverage.rules, "apply to a task", every=every)
        yield from _counted("tools", coverage.tools, "are called", every=every)
    for name, labels in coverage.labels.items():
        counts = ", ".join(f"{one_line(one)} {tasks or 'never'}" for one, tasks in labels.items())
        yield from _wrapped(f"labels of {one_line(name)}: {counts}")


def _wrapped(line: str) -> Iterator[str]:
    yield from wrap(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _source(coverage: Coverage) -> str:
    if not coverage.source:
        return f"{_tasks(coverage.tasks)}; without a policy or expected calls none can be followed"
    left = coverage.tasks - coverage.covered
    lost = f"; {left} more cannot be run, and say nothing" if left else ""
    return f"{_tasks(coverage.covered)}, by the runs of {coverage.source}{lost}"


def _tasks(number: int) -> str:
    return counted(number, "task") if number else "no task"


def _clause_line(name: str, said: str, text: SopText, room: int) -> str:
    words = " ".join(text.text_of(name).split())
    return cut(f"  {one_line(name):{_CLAUSE}} {said:{room}} {one_line(words)}", WIDTH)


def _sides_lines(sides: Sequence[Sides], *, every: bool) -> Iterator[str]:
    if not sides:
        return
    both = sum(not one.missing for one in sides)
    yield f"conditions {both} of {len(sides)} have tasks on both sides"
    cut_offs = [one for one in sides if one.condition.is_cut_off]
    if cut_offs:
        split = sum(not one.missing for one in cut_offs)
        exact = sum(bool(one.tasks.get(EQUAL)) for one in cut_offs)
        yield f"cut-offs {split} of {len(cut_offs)} on both sides, {exact} at the very value"
    for one in sides:
        few = min(one.tasks.get(side, 0) for side in (HELD, NOT_HELD)) < _FEW
        if every or few or (one.condition.is_cut_off and not one.tasks.get(EQUAL)):
            where = f"policy.py:{one.condition.line}{_named(one.clauses)}"
            yield from _wrapped(f"  {where}: {sides_text(one)}: {one_line(one.condition.text)}")


def _named(clauses: Sequence[str]) -> str:
    return f" (clause {', '.join(map(one_line, clauses))})" if clauses else ""


def sides_text(sides: Sides) -> str:
    """Such as `true 12, false never`; of a cut-off also at the very value."""
    shown = [HELD, NOT_HELD, *([EQUAL] if sides.condition.is_cut_off else [])]
    return ", ".join(f"{side} {sides.tasks.get(side) or 'never'}" for side in shown)


def _counted(what: str, counts: Mapping[str, int], verb: str, *, every: bool) -> Iterator[str]:
    if not counts:
        return
    yield f"{what} {sum(map(bool, counts.values()))} of {len(counts)} {verb}"
    for name, tasks in counts.items():
        if every or tasks < _FEW:
            yield f"  {one_line(name)}: {_tasks(tasks)}"


def coverage_json(coverage: Coverage) -> Mapping[str, JsonValue]:
    """Return all that is known, as an object."""
    return {
        "domain": coverage.name,
        "tasks": coverage.tasks,
        "covered": coverage.covered,
        "source": coverage.source or None,
        "percent": coverage.percent if coverage.clauses else None,
        "clauses": dict(coverage.clauses),
        "unnamed": list(coverage.unnamed),
        "conditions": [
            {
                "line": one.condition.line,
                "text": one.condition.text,
                "clauses": list(one.clauses),
                "cut_off": one.condition.is_cut_off,
                "tasks": {side: one.tasks.get(side, 0) for side in (HELD, NOT_HELD, EQUAL)},
            }
            for one in coverage.sides
        ],
        "rules": dict(coverage.rules),
        "tools": dict(coverage.tools),
        "labels": {name: dict(labels) for name, labels in coverage.labels.items()},
        "problems": list(coverage.problems),
    }


# What came of the clauses in a session.


def session_lines(
    domain: str, clauses: Mapping[str, ClauseRuns], sop: str, *, every: bool
) -> Iterator[str]:
    """Yield each clause that was broken or never came up; of `every` clause what came of it."""
    yield heading(f"coverage: {one_line(domain)}")
    if not clauses:
        yield "clauses n/a: the runs were held against no contract"
        return
    kept = sum(bool(one.kept) and not one.broken for one in clauses.values())
    broken = sum(bool(one.broken) for one in clauses.values())
    never = sum(not one.asked for one in clauses.values())
    yield f"clauses {len(clauses)}: {kept} kept, {broken} broken, {never} never applied"
    text = SopText(sop)
    for name, one in clauses.items():
        if every or one.broken or not one.kept:
            yield _clause_line(name, runs_text(one), text, _BY_RUNS)


def runs_text(runs: ClauseRuns) -> str:
    """Such as `broken by 2 of 12 runs`."""
    if not runs.asked:
        return "never applied"
    if runs.broken:
        return f"broken by {runs.broken} of {counted(runs.asked, 'run')}"
    if not runs.kept:
        return f"nothing shown in {counted(runs.asked, 'run')}"
    return f"kept by {runs.kept} of {counted(runs.asked, 'run')}"


def runs_json(clauses: Mapping[str, ClauseRuns]) -> Mapping[str, JsonValue]:
    """Return what came of each clause, as an object."""
    return {
        name: {"runs": one.asked, "kept": one.kept, "broken": one.broken}
        for name, one in clauses.items()
    }


# The page: the procedure with a colour for each clause, and the same numbers.

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1d2024; --bg: #fbfbf9; --dim: #575e66;
  --good: #d9efe0; --thin: #f7ecc6; --bad: #f8d9d6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7e8ea; --bg: #141619; --dim: #a6adb5;
  --good: #17391f; --thin: #453a10; --bad: #4a211f; } }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; background: var(--bg); color: var(--ink);
  font: 14px/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
td { vertical-align: top; padding: .05rem .6rem; white-space: pre-wrap; }
td:first-child { width: 13rem; color: var(--dim); text-align: right; }
.good td + td { background: var(--good); } .thin td + td { background: var(--thin); }
.bad td + td { background: var(--bad); } .good b, .thin b, .bad b { font-weight: 600; }
pre { white-space: pre-wrap; } h2 { font-size: 1.1rem; }
"""
_LEGEND: Final = "green: {good}; yellow: {thin}; red: {bad}; without colour: not counted"


def coverage_page(coverage: Coverage, mask: Callable[[str], str]) -> str:
    """Return the page on a domain."""
    partly = {clause for one in coverage.sides if one.missing for clause in one.clauses}
    states: dict[str, tuple[str, str]] = {}
    for name, tasks in coverage.clauses.items():
        is_thin = tasks < _FEW or name in partly
        words = f"{_tasks(tasks)}{', on one side of a condition' if name in partly else ''}"
        states[name] = ("bad" if not tasks else "thin" if is_thin else "good", words)
    thin = "one task, or one side of a condition"
    legend = _LEGEND.format(good="two tasks or more", thin=thin, bad="none")
    few, every = (list(coverage_lines(coverage, every=one)) for one in (False, True))
    return _page(coverage.name, [(coverage.sop, states, few, every)], legend, mask)


def session_page(
    name: str,
    domains: Mapping[str, tuple[Mapping[str, ClauseRuns], str]],
    mask: Callable[[str], str],
) -> str:
    """Return the page on a session: of each domain its clauses and its procedure."""
    parts: list[_Part] = []
    for domain, (clauses, sop) in domains.items():
        states = {
            number: (
                "bad" if one.broken else "good" if one.kept else "thin",
                runs_text(one),
            )
            for number, one in clauses.items()
        }
        few, every = (list(session_lines(domain, clauses, sop, every=one)) for one in (False, True))
        parts.append((sop, states, few, every))
    legend = _LEGEND.format(good="kept", thin="never shown or never applied", bad="broken")
    return _page(name, parts, legend, mask)


_Part = tuple[str, Mapping[str, tuple[str, str]], Sequence[str], Sequence[str]]
"""A procedure, the colour and the words of each clause, and the lines about it: few, and all."""


def _page(name: str, parts: Iterable[_Part], legend: str, mask: Callable[[str], str]) -> str:
    def shown(text: str) -> str:
        return escape(visible(mask(text)))

    body: list[str] = []
    for sop, states, *told in parts:
        few, every = ("\n".join(map(shown, lines)) for lines in told)
        body.append(f"<pre>{few}</pre>\n<p>{escape(legend)}</p>\n<table>")
        for line, clause, begins in sop_lines(sop, states):
            colour, words = states.get(clause, ("", ""))
            beside = f"{clause}: {words}" if begins else ""
            body.append(f'<tr class="{colour}"><td>{shown(beside)}</td><td>{shown(line)}</td></tr>')
        body.append("</table>")
        body.append(f"<details><summary>Everything</summary><pre>{every}</pre></details>")
    title = f"Coverage of {shown(name)}"
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{title}</h1>\n" + "\n".join(body) + "\n</body></html>\n"
    )
