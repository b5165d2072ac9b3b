"""Secrets planted wherever a session takes text from, and looked for wherever it leaves any."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

# The places, and the agent and tests that plant, are those of the suite.
from hooks.test_canaries import AGENT, PLACES, TESTS

from campaign.kit import Ended, excerpt, run_pytest, run_sopbench, traceback_of_ours, write_lab

MODES: Final[Mapping[str, tuple[str, ...]]] = {
    "default": (),
    "in flight": ("--sop-concurrency=4",),
    "workers": ("-n2",),
}
FILES: Final = {"page.md", "page.html", "runs.csv", "session.json", "junit.xml", "log.log"}
HABITS: Final = """
def number(inputs):
    return int(inputs["sample_id"].rpartition("_")[2])
"""


def secret_of(place: str, seed: int) -> str:
    """Return the secret of a place: digits where it stands for a number, lines where for a key."""
    digits = hashlib.sha256(f"{seed} {place}".encode()).hexdigest()[:24]
    if "number" in place or "digits" in place:
        return str(int(digits, 16) + 10**20)[:14]
    if "lines" in place:
        return f"-----BEGIN KEY-----\n{digits[:12]}\n{digits[12:]}\n-----END KEY-----"
    if place in {"URL", "HTML", "JSON in JSON", "signs of other languages"}:
        return f'{digits[:12]}"/é☃ <&{digits[12:]}'
    return digits


def _parts(place: str, seed: int) -> Iterator[str]:
    """Yield any eight characters of a secret, and of its bytes in base64."""
    secret = secret_of(place, seed)
    plain = [one for one in secret.split("\n") if "--" not in one]
    coded = base64.b64encode(f"jo:{secret}".encode()).decode()[4:28]
    for text in (*plain, coded, base64.b64encode(secret.encode()).decode()[:28]):
        words = text if text.isascii() else text[:12]
        yield from (words[at : at + 8] for at in range(len(words) - 7))


def try_places(mode: str, places: Sequence[str], seed: int, folder: Path) -> str | None:
    """Run a session in which all places are planted, and say where some of them leak."""
    ended = _session(mode, seed, folder, is_masked=True)
    texts = _left(folder, ended)
    faults = [
        f"{place}: {part!r} in {name}"
        for place in places
        for name, text in texts.items()
        if (part := next((one for one in _parts(place, seed) if one in text), ""))
    ]
    if fault := traceback_of_ours(ended.text):
        faults.append(fault)
    if ended.status != 1 or not FILES <= texts.keys():
        faults.append(f"the session is none: {excerpt(ended)}")
    return "\n".join(faults) or None


def try_without_mask(places: Sequence[str], seed: int, folder: Path) -> str | None:
    """Mask nothing, and see that each secret is found: else the search is no good."""
    texts = _left(folder, _session("default", seed, folder, is_masked=False)).values()
    hidden = [
        place
        for place in places
        if not any(part in text for part in _parts(place, seed) for text in texts)
    ]
    return f"not found where nothing is masked: {hidden}" if hidden else None


def _session(mode: str, seed: int, folder: Path, *, is_masked: bool) -> Ended:
    domain = write_lab(folder)
    rows = [f"T_{number:02},50,retest" for number in range(1, 9)]
    (domain / "data.csv").write_text("\n".join(["sample_id,reading,grade", *rows]) + "\n")
    for name, text in {"canaries": AGENT, "test_own": TESTS, "habits": HABITS}.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    names = {place: f"CANARY_{number}" for number, place in enumerate(PLACES)}
    # The last place is the environment of the agent, which is masked without being named.
    masked = "".join(f"\n  env:{name}" for name in [*names.values()][:-1])
    ini = f"[pytest]\nsop_redact ={masked}\n" if is_masked else "[pytest]\n"
    (folder / "pytest.ini").write_text(ini, "utf-8")
    env = {name: secret_of(place, seed) for place, name in names.items()}
    key = f"env:{names[PLACES[-1]]}" if is_masked else secret_of(PLACES[-1], seed)
    return run_pytest(
        folder, "--sop-domain=lab", "--sop-agent=canaries:agent", f"--sop-agent-arg=key={key}",
        "--sop-report=md=page.md", "--sop-report=html=page.html", "--sop-report=csv=runs.csv",
        "--sop-report=json=session.json", "--junitxml=junit.xml", "-ojunit_family=xunit1",
        "-osop_traces=all", "-rA", "-vv", "-Wdefault", "--log-file=log.log",
        "domains/lab/data.csv", "test_own.py", *MODES[mode],
        env={**env, "PLACES": json.dumps(names)}, xdist=True,
    )  # fmt: skip


def _left(folder: Path, ended: Ended) -> dict[str, str]:
    """Return the streams and all files that a session has left, and what `sopbench` shows of it."""
    kinds = {".jsonl", ".json", ".xml", ".md", ".log", ".csv", ".html"}
    files = [one for one in folder.rglob("*") if one.suffix in kinds and one.is_file()]
    shown = run_sopbench(folder, "show", "last", "--all", "--json")
    return {
        "stdout": ended.out,
        "stderr": ended.err,
        "sopbench show": shown.text,
        **{one.relative_to(folder).as_posix(): one.read_text("utf-8") for one in files},
    }
