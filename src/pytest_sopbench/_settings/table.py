"""The one table of options and ini values, a row for each."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

# What the table of options says of one option or ini value.

Again: TypeAlias = Literal["same", "own", "no"]
"""What the line `again`, which makes one run of a session again, says of an option.

`same` decides a run or its verdict, and is repeated as it was given. `own` does so as well, and
the line says in words of its own what is asked for. `no` decides neither: it selects, saves, shows
or gates a session.
"""

SAME: Final = "same"
OWN: Final = "own"
NO: Final = "no"

Words: TypeAlias = tuple[str, ...]


# No dataclass: making the class takes seven times as long, at every start of pytest.
class OptionSpec(NamedTuple):
    """An option of the command line, an ini value, or one setting that is both.

    `help` is that of the option, and empty if there is none; `ini` is that of the ini value,
    likewise. `metavar` is what stands for the value of the option. `aliases` are other
    spellings of it, which are added elsewhere. `default` is the text of what holds if nothing
    is set, as a user would write it. `lines` holds if a value is a line, in which a backslash
    stays, and not a word as of a shell. `again` has no default: who adds an option must say it.
    """

    name: str
    again: Again
    help: str = ""
    metavar: str = ""
    aliases: Words = ()
    repeatable: bool = False
    ini: str = ""
    default: Words = ()
    lines: bool = False

    @property
    def option(self) -> str:
        """The option as it is typed."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_option(self) -> bool:
        return bool(self.help)

    @property
    def is_ini(self) -> bool:
        return bool(self.ini)

    @property
    def ini_help(self) -> str:
        """The help of the ini value, which ends in what holds if it is not set."""
        return f"{self.ini} (default: {' '.join(self.default)})" if self.default else self.ini

    @property
    def ini_type(self) -> Literal["args", "linelist"]:
        # `args` alone is given back as written by every pytest that we support.
        return "linelist" if self.lines else "args"


# The one table of options and ini values: names, help and defaults, and no meaning.
#
# pytest, `sopbench`, the protection of rootdir and the reference page all follow it. pytest loads
# this module at every start, so it and `spec` need the standard library alone; `readers` says what
# texts mean.

AGENT_OPTION: Final = "--agent"
"""The short spelling of `--sop-agent`, which waits until no other plugin wants it."""

TABLE: Final = (
    OptionSpec(
        name="sop_domain",
        again=OWN,
        metavar="NAME|PATH",
        repeatable=True,
        help="domains to run: a name, a folder (./lab), a glob, a comma list, all, bundled",
        ini="domains whose tasks the SOP tests of this project use",
    ),
    OptionSpec(
        name="sop_agent",
        again=OWN,
        metavar="[NAME=]SPEC",
        aliases=(AGENT_OPTION,),
        repeatable=True,
        help="the agent under test: package.module:attribute, a registered name, reference-policy; "
        "given again, every agent runs every task",
        ini="the agent under test, or several",
    ),
    OptionSpec(
        name="sop_agent_arg",
        again=OWN,
        metavar="KEY=VALUE",
        repeatable=True,
        help="given to the agent's parameter of that name; env:NAME is read late, never recorded",
    ),
    OptionSpec(
        name="sop_approver",
        again=SAME,
        ini="who approves the steps that need it: auto (all are approved), deny (none is), or "
        "scripted:PATH, a file of decisions",
        default=("auto",),
    ),
    OptionSpec(
        name="sop_tags", again=NO, metavar="TAG,...", help="run only tasks that have one of these"
    ),
    OptionSpec(
        name="sop_shard",
        again=NO,
        metavar="i/n",
        help="run the i-th of n parts of each domain; `sopbench merge` puts them together, and "
        "`sopbench gate` decides",
    ),
    OptionSpec(
        name="sop_sample",
        again=NO,
        metavar="N[@SEED]|first:N|strong[:N]",
        help="run N tasks of each domain, drawn evenly over the expected answers (seed 0), the "
        "first N, or those that `sopbench audit --mutants --write-sample` chose (strong)",
    ),
    OptionSpec(
        name="sop_trials",
        again=OWN,
        metavar="K",
        help="run each task K times, as K items (default: 1)",
        default=("1",),
    ),
    OptionSpec(
        name="sop_variants",
        again=SAME,
        metavar="NAME,...",
        help="run variants beside the tasks, which count nowhere: nosop (without the SOP), noise "
        "(with irrelevant paragraphs), or variants/NAME.jsonl of the domain",
    ),
    OptionSpec(
        name="sop_budget",
        again=NO,
        metavar="5usd|14m",
        repeatable=True,
        help="once so much is spent, start no more runs: money (5usd) or time (90s, 14m, 2h)",
    ),
    OptionSpec(
        name="sop_replay",
        again=SAME,
        metavar="off|record|only|auto",
        help="model traffic: record it; only replay what is recorded, and send nothing; auto: "
        "replay what is recorded, and record the rest",
        default=("off",),
    ),
    OptionSpec(
        name="sop_prices",
        again=SAME,
        ini="a file of prices (TOML) by which costs are reckoned, or none (default: genai-prices, "
        "if it is installed)",
    ),
    OptionSpec(
        name="sop_concurrency",
        again=NO,
        metavar="N|auto",
        help="how many agent runs are in flight at the same time in the whole session; auto: as "
        "many as the provider bears (default: one per process)",
        ini="agent runs in flight, as --sop-concurrency",
    ),
    OptionSpec(
        name="sop_timeout",
        again=SAME,
        metavar="SECONDS",
        help="seconds that one run may take (default: 600; 0: no limit)",
        default=("600",),
    ),
    OptionSpec(
        name="sop_retries",
        again=SAME,
        metavar="N",
        help="make a run again, up to N times, that met a rate limit or a provider that was away "
        "(default: 0)",
        default=("0",),
    ),
    OptionSpec(
        name="sop_fail_under",
        again=NO,
        metavar="RATE",
        help="fail unless the share of correct runs is at least RATE (0.9 or 90%%); none: no gate",
        ini="gate on TSR, as --sop-fail-under",
    ),
    OptionSpec(
        name="sop_gate",
        again=NO,
        metavar="[DOMAIN:]NAME=VALUE[@AGENT]",
        repeatable=True,
        help="any other gate. At least: tsr, ecr, c_tsr, fields, field:NAME, field:*, "
        "tool_accuracy, expected_calls, contract, grounded_tsr, tier_score; with trials also task, "
        "pass_any, pass_all. At most: unavailable; what is paid: cost, tokens, latency_p95 (of a "
        "run), total_cost, total_tokens; with --sop-compare also lost, drop, p",
        ini="gates on other metrics, as --sop-gate",
    ),
    OptionSpec(
        name="sop_save",
        again=NO,
        metavar="NAME|PATH",
        help="keep the session under this name as well (a path has a / or ends in .jsonl)",
    ),
    OptionSpec(
        name="sop_compare",
        again=NO,
        metavar="NAME|PATH[,create]",
        help="compare with this saved session; the gates lost, drop and p can then decide; create: "
        "if there is none, this session becomes it",
    ),
    OptionSpec(
        name="sop_report",
        again=NO,
        metavar="FORMAT=PATH|md=github|annotations=github",
        repeatable=True,
        help="write a report on the session: md, csv, json or html; github: the step summary"
        " (md), or misses as annotations",
    ),
    OptionSpec(
        name="sop_resume",
        again=NO,
        metavar="NAME|PATH[,retry=OUTCOME+...][,anyway]",
        help="take over the runs that this saved session has finished, and run the rest; retry: "
        "make finished runs of these outcomes again (retry=error+timeout); anyway: although the "
        "commit, uncommitted changes or some rows differ",
    ),
    OptionSpec(
        name="sop_paths",
        again=SAME,
        ini="folders in which domain folders lie",
        default=("domains", "tests/domains"),
    ),
    OptionSpec(
        name="sop_trust",
        again=SAME,
        ini="folders outside the project whose domains may run their own code",
    ),
    OptionSpec(
        name="sop_max_calls", again=SAME, ini="tool calls that one run may make", default=("100",)
    ),
    OptionSpec(
        name="sop_tool_address",
        again=SAME,
        ini="where agents elsewhere call tools: an address to listen on, and the host they see",
        default=("127.0.0.1",),
    ),
    OptionSpec(
        name="sop_scoring",
        again=SAME,
        ini="exact, or published, which finds and compares as SOP-Bench does",
        default=("exact",),
    ),
    OptionSpec(
        name="sop_unavailable_exceptions",
        again=SAME,
        ini="exceptions that mean that the provider was unavailable",
    ),
    OptionSpec(
        name="sop_comparer_timeout",
        again=SAME,
        ini="seconds that one comparison by a function may take (0: no limit)",
        default=("60",),
    ),
    OptionSpec(
        name="sop_judge",
        again=SAME,
        ini="the model that judges fields by a rubric (openai/MODEL), and its settings: KEY=VALUE",
    ),
    OptionSpec(
        name="sop_dir",
        again=SAME,
        ini="where sessions and judgements are kept, which git ignores",
        default=(".sop",),
    ),
    OptionSpec(
        name="sop_committed_dir",
        again=SAME,
        ini="where sop_tasks.toml, sop_snapshots and sop_cassettes are, which git keeps",
        default=(".",),
    ),
    OptionSpec(
        name="sop_keep_sessions",
        again=NO,
        ini="how many saved sessions stay, or all",
        default=("20",),
    ),
    OptionSpec(
        name="sop_junit_misses",
        again=NO,
        ini="misses in JUnit XML if the gate holds: skipped or failure",
        default=("skipped",),
    ),
    OptionSpec(
        name="sop_contract",
        again=SAME,
        ini="off, report (a broken must rule fails) or enforce (any does)",
        default=("report",),
    ),
    OptionSpec(
        name="sop_traces",
        again=NO,
        ini="event logs to keep: failed, all or none",
        default=("failed",),
    ),
    OptionSpec(
        name="sop_redact",
        again=SAME,
        lines=True,
        ini="what is written as *** everywhere: regular expressions, or env:NAME",
    ),
    OptionSpec(
        name="sop_replay_ignore",
        again=SAME,
        lines=True,
        ini="what need not agree with a recording: paths of JSON (metadata.user, "
        "messages[*].name), text:REGEX for what matches inside of texts, or host:NAME[:PORT], "
        "whose traffic is left alone",
    ),
    OptionSpec(
        name="sop_replay_max_age",
        again=SAME,
        ini="days after which a recording is too old to be replayed, such as 90",
    ),
    OptionSpec(
        name="sop_snapshot_rules",
        again=SAME,
        lines=True,
        ini="which arguments and values of a trajectory a snapshot compares",
    ),
)
"""In the order of the reference page."""

SESSIONS: Final = "sessions"
JUDGEMENTS: Final = "judgements"
"""What lies in `sop_dir`."""

TASKS_FILE: Final = "sop_tasks.toml"
SNAPSHOTS: Final = "sop_snapshots"
CASSETTES: Final = "sop_cassettes"
"""What lies in `sop_committed_dir`."""

SPECS: Final = {spec.name: spec for spec in TABLE}

VALUE_OPTIONS: Final = frozenset(
    option for spec in TABLE if spec.is_option for option in (spec.option, *spec.aliases)
)
"""Every option that a value follows, which pytest may take for a test path."""

WAKING: Final = tuple(spec.name for spec in TABLE if spec.is_option)
"""Options that ask for the plugin by being given."""


def unsplit(name: str, fault: ValueError, file: Path | None) -> str:
    """Say that the text of an ini value cannot be cut into words."""
    return (
        f"{file}: {name}: {str(fault).lower()}\n"
        "write a quote or a backslash that belongs to a value inside quotes"
    )
