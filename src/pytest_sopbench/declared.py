"""The options and ini values that pytest is told of at every start: names, and no meaning."""

from __future__ import annotations

from typing import Literal

import pytest

OPTIONS = (
    "sop_domain",
    "sop_agent",
    "sop_agent_arg",
    "sop_limit",
    "sop_sample",
    "sop_tags",
    "sop_shard",
    "sop_trials",
    "sop_budget",
    "sop_fail_under",
    "sop_gate",
    "sop_save",
    "sop_resume",
    "sop_resume_retry",
    "sop_compare",
    "sop_report",
    "sop_concurrency",
    "sop_timeout",
)
"""Options that ask for the plugin by being given."""


def add_options(parser: pytest.Parser) -> None:
    """Add every option but `--agent`, which waits until no other plugin wants it."""
    group = parser.getgroup("sop", "agents that execute standard operating procedures")
    group.addoption(
        "--sop-domain",
        action="append",
        default=None,
        metavar="NAME|PATH",
        help="domains to run: a name, a folder (./lab), a glob, a comma list, all, bundled",
    )
    group.addoption(
        "--sop-agent",
        dest="sop_agent",
        default=None,
        metavar="SPEC",
        help="the agent under test: package.module:attribute, a registered name, reference-policy",
    )
    group.addoption(
        "--sop-agent-arg",
        action="append",
        default=None,
        metavar="KEY=VALUE",
        help="given to the agent's parameter of that name; env:NAME is read late, never recorded",
    )
    group.addoption(
        "--sop-list",
        action="store_true",
        default=False,
        help="list the domains found and exit, as `sopbench list` does",
    )
    group.addoption(
        "--sop-tags", default=None, metavar="TAG,...", help="run only tasks that have one of these"
    )
    group.addoption(
        "--sop-shard",
        default=None,
        metavar="i/n",
        help="run the i-th of n parts of each domain; `sopbench merge` puts them together, and "
        "`sopbench gate` decides",
    )
    group.addoption(
        "--sop-sample",
        default=None,
        metavar="N[@SEED]",
        help="run N tasks of each domain, drawn evenly over the expected answers (seed 0)",
    )
    group.addoption(
        "--sop-limit", default=None, metavar="N", help="run only the first N tasks of each domain"
    )
    group.addoption(
        "--sop-trials", default=None, metavar="K", help="run each task K times, as K items"
    )
    group.addoption(
        "--sop-budget",
        action="append",
        default=None,
        metavar="5usd|14m",
        help="once so much is spent, start no more runs: money (5usd) or time (90s, 14m, 2h)",
    )
    group.addoption(
        "--sop-concurrency",
        default=None,
        metavar="N|auto",
        help="how many agent runs are in flight at the same time in the whole session; auto: as "
        "many as the provider bears (default: one per process)",
    )
    group.addoption(
        "--sop-timeout",
        default=None,
        metavar="S",
        help="seconds that one run may take (default: 600; 0: no limit)",
    )
    group.addoption(
        "--sop-fail-under",
        default=None,
        metavar="RATE",
        help="fail unless the share of correct runs is at least RATE (0.9 or 90%%); none: no gate",
    )
    group.addoption(
        "--sop-gate",
        action="append",
        default=None,
        metavar="[DOMAIN:]NAME=VALUE",
        help="any other gate. At least: tsr, ecr, c_tsr, tool_accuracy, contract, grounded_tsr; "
        "with trials also task, pass_any, pass_all. At most: unavailable; with --sop-compare "
        "also lost, drop, p",
    )
    group.addoption(
        "--sop-save",
        default=None,
        metavar="NAME|PATH",
        help="keep the session under this name as well (a path has a / or ends in .jsonl)",
    )
    group.addoption(
        "--sop-resume",
        default=None,
        metavar="NAME|PATH",
        help="take over the runs that this saved session has finished, and run the rest",
    )
    group.addoption(
        "--sop-resume-retry",
        default=None,
        metavar="OUTCOME,...",
        help="with --sop-resume: make finished runs of these outcomes again (error,timeout)",
    )
    group.addoption(
        "--sop-resume-anyway",
        action="store_true",
        default=False,
        help="resume although the commit, uncommitted changes or some rows differ",
    )
    group.addoption(
        "--sop-compare",
        default=None,
        metavar="NAME|PATH",
        help="compare with this saved session; the gates lost, drop and p can then decide",
    )
    group.addoption(
        "--sop-compare-create",
        action="store_true",
        default=False,
        help="with --sop-compare: where that session does not exist, make this one the baseline",
    )
    group.addoption(
        "--sop-report",
        action="append",
        default=None,
        metavar="md=PATH|md=github",
        help="write a page of Markdown on the session; github: the step summary of Actions",
    )


def add_ini_values(parser: pytest.Parser) -> None:
    """Add what a project sets once in its configuration."""
    # The type of all is `args`, because it alone is given back as written by every pytest that
    # we support; `_hooks.options` reads numbers and paths out of it.
    for name, text in (
        ("sop_domain", "domains whose tasks the SOP tests of this project use"),
        ("sop_agent", "the agent under test"),
        ("sop_concurrency", "agent runs in flight, as --sop-concurrency"),
        ("sop_timeout", "seconds that one run may take, as --sop-timeout"),
        ("sop_trials", "how often each task is run, as --sop-trials"),
        (
            "sop_lookahead",
            "how many runs may begin before their tests come (default: 8 x concurrency)",
        ),
        ("sop_retries", "how often a run that ended as unavailable is made again (default: 0)"),
        ("sop_fail_under", "gate on TSR, as --sop-fail-under"),
        ("sop_gate", "gates on other metrics, as --sop-gate"),
        ("sop_junit_misses", "misses in JUnit XML: failure (default) or skipped"),
        ("sop_paths", "folders in which domain folders lie (default: domains, tests/domains)"),
        ("sop_max_calls", "tool calls that one run may make (default: 100)"),
        ("sop_scoring", "exact (default) or published, which finds and compares as SOP-Bench does"),
        ("sop_contract", "off, report (default: a broken must rule fails) or enforce (any does)"),
        ("sop_traces", "event logs to keep: failed (default), all or none"),
        ("sop_redact", "what is written as *** everywhere: regular expressions, or env:NAME"),
        ("sop_snapshots_dir", "where approved trajectories are kept (default: sop_snapshots)"),
        ("sop_snapshot_rules", "which arguments and values of a trajectory a snapshot compares"),
        ("sop_trust", "folders outside the project whose domains may run their own code"),
        ("sop_tasks_file", "tasks that must pass or may fail (default: sop_tasks.toml)"),
        ("sop_sessions_dir", "where saved sessions are kept (default: .sop/sessions)"),
        ("sop_keep_sessions", "how many saved sessions stay, or all (default: 20)"),
        ("sop_unavailable_exceptions", "exceptions that mean that the provider was unavailable"),
    ):
        # A regular expression is no shell word: a backslash in it must stay.
        lines = name in {"sop_redact", "sop_snapshot_rules"}
        kind: Literal["linelist", "args"] = "linelist" if lines else "args"
        parser.addini(name, text, type=kind, default=[])
