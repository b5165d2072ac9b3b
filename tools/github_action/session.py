"""The one step of the GitHub Action: run pytest once, post the verdict, keep the baseline.

It needs Python's standard library and the environment in which the workflow has installed the
user's requirements. `action.yml` tells it everything by variables of the environment.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, cast

REPORT = Path("sop-report")
SESSION = REPORT / "session.jsonl"
PAGE = REPORT / "page.md"
FACTS = REPORT / "report.json"
# What `action.yml` takes from the cache and puts there.
CACHED = Path("sop-baseline.jsonl")
# GitHub takes 65,535 characters of a summary, and counts them after encoding.
SUMMARY_LIMIT = 60_000
TIMEOUT_S = 30
READ_S = 5
ERROR_LINES = 40


def main() -> int:
    """Run the session, and return the status of the step."""
    given = os.environ
    shutil.rmtree(REPORT, ignore_errors=True)
    REPORT.mkdir()
    baseline = Path(given["SOP_BASELINE"])
    status, errors = run(pytest_command(given, baseline))
    report = read_report()
    succeeded = status == 0 and report.get("verdict", {}).get("state") in {"holds", "not checked"}
    title = title_of(report, status, errors)
    write_outputs(given, title=title, conclusion="success" if succeeded else "failure")
    print(f"sop: {title}")  # noqa: T201 - the log of the step
    if not PAGE.is_file():
        write_why(given, title, errors)
    if given.get("SOP_CHECK_NAME"):
        post_check(given, title=title, conclusion="success" if succeeded else "failure")
    if succeeded and given.get("GITHUB_EVENT_NAME") != "pull_request" and baseline == CACHED:
        shutil.copyfile(SESSION, CACHED)
    return 0 if succeeded else status or 1


def run(command: Sequence[str]) -> tuple[int, str]:
    """Run a command; return its status and the end of its standard error, which is shown."""
    kept: deque[str] = deque(maxlen=ERROR_LINES)
    process = subprocess.Popen(  # noqa: S603 - the workflow's own words
        command, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
    )

    def pass_on() -> None:
        for line in process.stderr or ():
            sys.stderr.write(line)
            sys.stderr.flush()
            kept.append(line)

    reader = Thread(target=pass_on, daemon=True)
    reader.start()
    status = process.wait()
    # What an agent has left running may hold the other end for ever.
    reader.join(READ_S)
    return status, "".join([*kept]).strip()


def pytest_command(given: Mapping[str, str], baseline: Path) -> list[str]:
    """Return the command line of the session."""
    command = [sys.executable, "-m", "pytest", *shlex.split(given.get("SOP_ARGUMENTS", ""))]
    if given.get("SOP_FAIL_UNDER"):
        command.append(f"--sop-fail-under={given['SOP_FAIL_UNDER']}")
    command += [f"--sop-gate={gate}" for gate in lines(given.get("SOP_GATES", ""))]
    if given.get("GITHUB_EVENT_NAME") == "pull_request":
        if baseline.is_file():
            command.append(f"--sop-compare={baseline.resolve()}")
            compared = lines(given.get("SOP_COMPARE_GATES", ""))
            command += [f"--sop-gate={gate}" for gate in compared]
        else:
            print(f"::warning::no baseline {baseline}, so nothing is compared")  # noqa: T201
    if given.get("SOP_IS_FORK") == "true":
        # A fork is given no keys: what is recorded is replayed, and nothing else is sent.
        command.append("--sop-replay=only")
    command += [f"--sop-save={SESSION.resolve()}", f"--junitxml={REPORT / 'junit.xml'}"]
    reports = [f"json={FACTS}", f"md={PAGE}", "md=github", "annotations=github"]
    if importlib.util.find_spec("jinja2"):
        reports.append(f"html={REPORT / 'report.html'}")
    return command + [f"--sop-report={one}" for one in reports]


def lines(text: str) -> list[str]:
    """Return the lines that say something."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_report() -> dict[str, Any]:
    """Return what the session wrote as JSON; empty if it came to no result."""
    try:
        report: object = json.loads(FACTS.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", report) if isinstance(report, dict) else {}


def title_of(report: Mapping[str, Any], status: int, errors: str) -> str:
    """Return the verdict in one line, such as `91.7 % correct, 11 of 12; all gates hold`."""
    if not report:
        # Of a wrong option the usage comes first.
        why = re.search(r"error: (?!usage: )(.+)", errors, re.IGNORECASE)
        return f"no result: pytest ended with status {status}{f': {why[1]}' if why else ''}"
    parts = [share_of(report), gates_of(report["verdict"])]
    comparison: dict[str, Any] = report.get("comparison") or {}
    compared: dict[str, Any] = comparison.get("groups") or {}
    groups = [*compared.values()]
    if groups:
        lost, gained = (sum(len(one[key]) for one in groups) for key in ("lost", "gained"))
        parts.append(f"{lost} lost, {gained} gained since the baseline")
    if status and report["verdict"]["state"] in {"holds", "not checked"}:
        parts.append(f"pytest ended with status {status}")
    return "; ".join(part for part in parts if part)


def share_of(report: Mapping[str, Any]) -> str:
    """Return the share of correct runs over all domains, with its counts."""
    if report.get("agents"):
        return f"agents {report['agent']}"
    counts = report["total"]["pooled"] if report.get("total") else None
    counts = counts or next(iter(report["domains"].values()), None)
    if not counts:
        return "no runs"
    runs, correct, rate = counts["runs"], counts["correct"], counts["tsr"]
    share = "n/a" if rate is None else f"{100 * rate:.1f} %"
    # Else a gate that holds would seem to contradict the share, since it leaves these out.
    excused = sum(1 for run in report["not_correct"] if run["may_fail"])
    beside = f", {excused} may fail" if excused else ""
    return f"{share} correct, {correct} of {runs}{beside}"


def gates_of(verdict: Mapping[str, Any]) -> str:
    """Return what came of the gates: those that do not hold by their names."""
    gates = verdict["gates"]
    failing = [gate for gate in gates if gate["state"] != "holds"]
    if failing:
        words = [f"{one['asked']} {one['state']} (got {one['got_text']})" for one in failing]
        return ", ".join(words)
    if verdict["state"] not in {"holds", "not checked"}:
        return f"{verdict['state']} {verdict['not_evaluated']}".strip()
    if len(gates) == 1:
        return f"{gates[0]['asked']} holds"
    return f"all {len(gates)} gates hold" if gates else "no gate"


def write_outputs(given: Mapping[str, str], **outputs: str) -> None:
    """Tell the steps that follow. A title has one line, since a line is an output."""
    path = given.get("GITHUB_OUTPUT")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(f"{key}={' '.join(text.split())}\n" for key, text in outputs.items())


def write_why(given: Mapping[str, str], title: str, errors: str) -> None:
    """Write the page of a session that wrote none: what pytest said, or where that stands."""
    # Indented, no text of theirs can end the block.
    said = "\n".join(f"    {line}" for line in errors.splitlines())
    page = f"# SOP: {title}\n\n{said or 'The log of the job has its output.'}\n"
    PAGE.write_text(page, "utf-8")
    path = given.get("GITHUB_STEP_SUMMARY")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(page)


def post_check(given: Mapping[str, str], *, title: str, conclusion: str) -> None:
    """Post a check run. GitHub refuses it for forks; then the job alone shows the verdict."""
    summary = PAGE.read_text("utf-8")
    whole = summary.encode()
    if len(whole) > SUMMARY_LIMIT:
        kept = whole[:SUMMARY_LIMIT].decode(errors="ignore")
        summary = f"{kept}\n\nCut here; the artifact has the whole page."
    check = {
        "name": given["SOP_CHECK_NAME"],
        "head_sha": given["SOP_HEAD_SHA"],
        "status": "completed",
        "conclusion": conclusion,
        "output": {"title": title[:250], "summary": summary},
    }
    # The address is GitHub's, given by its runner.
    request = urllib.request.Request(  # noqa: S310
        f"{given['GITHUB_API_URL']}/repos/{given['GITHUB_REPOSITORY']}/check-runs",
        data=json.dumps(check).encode(),
        method="POST",
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {given.get('SOP_TOKEN', '')}",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S):  # noqa: S310
            pass
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        print(f"::notice::the check could not be posted ({reason}); it needs checks: write")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
