"""Secrets planted wherever a session takes text from, and looked for wherever it leaves any.

Each place has a secret of its own, so that a failure names the place. A secret is known by any
eight characters of it, so that half of one is found as well as a whole one.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

PLACES = (
    "answer", "text", "cut text", "message", "key of a message", "key of a key", "number",
    "digits in a text", "stdout", "stderr", "log", "warning", "argument", "name of an argument",
    "list in an argument", "long argument", "name of a tool", "approval", "approver",
    "lines in a KeyError", "lines in a message", "cause", "note", "type of an exception",
    "cut message", "cut end of a message", "declared error", "declared exception",
    "repr of an object", "type of an object", "base64", "basic authorization", "URL", "HTML",
    "JSON in JSON", "signs of other languages", "assertion", "output of a test",
    "warning of a test", "property of a test", "section of a test", "failure of a test",
    "reason of an expected failure", "reason of a skip", "pretty-printed lines",
    "environment of the agent",
)  # fmt: skip

AGENT = r"""
import base64, html, json, logging, os, sys, urllib.parse, warnings
from concurrent.futures import ThreadPoolExecutor
from habits import number

SECRET = {place: os.environ[name] for place, name in json.loads(os.environ["PLACES"]).items()}


class Opaque:
    def __init__(self, text): self.text = text
    def __repr__(self): return "x" * 190 + self.text


def told(inputs, tools):
    s = SECRET
    print(s["stdout"])
    print(s["stderr"], file=sys.stderr)
    logging.getLogger("agent").warning("the key is %s", s["log"])
    warnings.warn("beware of " + s["warning"])
    tools.record_approval(s["approval"], by=s["approver"])
    tools.report(messages=[
        {"role": "user", "content": s["message"], s["key of a message"]: {s["key of a key"]: 1}},
        {"n": int(s["number"]), "text": "no " + s["digits in a text"]},
    ])
    arguments = {
        "sample_id": s["argument"], s["name of an argument"]: 1,
        "list": [[s["list in an argument"]]], "long": "y" * 3000 + s["long argument"],
        "object": Opaque(s["repr of an object"]),
        "type": type("T" + s["type of an object"], (), {})(),
    }
    for name in ("measure", "tool-" + s["name of a tool"]):
        try:
            # A thread of the agent's own, which has nothing of the context of the run.
            with ThreadPoolExecutor(1) as threads:
                threads.submit(tools.call, name, **arguments).result()
        except Exception as error:
            print(error)
    return "%s %s %s <grade>%s</grade>" % (
        s["text"], s["cut text"], "z" * 3930, s["answer"])


def keyed(inputs):
    raise KeyError(SECRET["lines in a KeyError"])


def caused(inputs):
    try:
        raise ValueError(SECRET["cause"])
    except ValueError as error:
        found = RuntimeError("no model:\n" + SECRET["lines in a message"])
        found.add_note(SECRET["note"])
        raise found from error


def typed(inputs):
    raise type("E_" + SECRET["type of an exception"], (Exception,), {})("typed")


def long(inputs):
    one, other = SECRET["cut message"], SECRET["cut end of a message"]
    raise ValueError("x" * 9_990 + one + "x" * 10_000 + other + "x" * 9_990)


def declared(inputs):
    return {"success": False, "error": "x" * 292 + SECRET["declared error"]}


def failed(inputs):
    return {"success": False, "error": ValueError("x" * 280 + SECRET["declared exception"])}


def coded(inputs):
    s = SECRET
    raise RuntimeError(" ".join([
        base64.b64encode(s["base64"].encode()).decode(),
        base64.b64encode(("jo:" + s["basic authorization"]).encode()).decode(),
        urllib.parse.urlencode({"q": s["URL"]}), html.escape(s["HTML"]),
        json.dumps({"body": json.dumps({"key": s["JSON in JSON"]})}),
        json.dumps(s["signs of other languages"]),
    ]))


EVERY = (told, keyed, caused, typed, long, declared, failed, coded)


def agent(inputs, tools, key):
    print(key)
    habit = EVERY[number(inputs) - 1]
    return habit(inputs, tools) if habit is told else habit(inputs)
"""

TESTS = """
import sys, warnings

import pytest
from canaries import SECRET


def test_own(sop_run, record_property, request):
    print(SECRET["output of a test"])
    warnings.warn(SECRET["warning of a test"])
    record_property("key", SECRET["property of a test"])
    request.node.add_report_section("call", "mine", SECRET["section of a test"])
    sop_run.assert_called("measure", times=9)


def test_asserts():
    assert {"key": SECRET["assertion"]} == {"key": "***"}


def test_asserts_lines():
    assert [SECRET["pretty-printed lines"], "***"] == ["***"]


@pytest.mark.xfail(reason=SECRET["reason of an expected failure"])
def test_is_expected_to_fail():
    assert False


@pytest.mark.skip(reason=SECRET["reason of a skip"])
def test_is_skipped(): ...


def test_fails():
    raise LookupError(SECRET["failure of a test"])
"""


def secret_of(place: str) -> str:
    digits = hashlib.sha256(place.encode()).hexdigest()[:24]
    if "number" in place or "digits" in place:
        return str(int(digits, 16))[:14]
    if "lines" in place:
        return f"-----BEGIN KEY-----\n{digits[:12]}\n{digits[12:]}\n-----END KEY-----"
    if place in {"URL", "HTML", "JSON in JSON", "signs of other languages"}:
        return f'{digits[:12]}"/é☃ <&{digits[12:]}'
    return digits


def parts_of(place: str) -> Iterator[str]:
    """Any eight characters of what is secret, and of its bytes in base64."""
    plain = [one for one in secret_of(place).split("\n") if "--" not in one]
    coded = base64.b64encode(f"jo:{secret_of(place)}".encode()).decode()[4:28]
    for text in (*plain, coded, base64.b64encode(secret_of(place).encode()).decode()[:28]):
        words = text if text.isascii() else text[:12]
        yield from (words[at : at + 8] for at in range(len(words) - 7))


@pytest.fixture
def planted(lab: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The domain with eight tasks, an agent that plants, and an environment with secrets."""
    names = {place: f"CANARY_{number}" for number, place in enumerate(PLACES)}
    for place, name in names.items():
        monkeypatch.setenv(name, secret_of(place))
    monkeypatch.setenv("PLACES", str(names).replace("'", '"'))
    rows = [f"T_{number:02},50,retest" for number in range(1, 9)]
    (lab / "data.csv").write_text("\n".join(["sample_id,reading,grade", *rows]) + "\n")
    pytester.makepyfile(canaries=AGENT, test_own=TESTS)
    masked = [name for place, name in names.items() if place != PLACES[-1]]
    pytester.makeini("[pytest]\nsop_redact =\n  " + "\n  ".join(f"env:{one}" for one in masked))
    return lab


def leaks(*texts: str) -> set[str]:
    return {
        place for place in PLACES for part in parts_of(place) if any(part in one for one in texts)
    }


def session(pytester: pytest.Pytester, key: str, *more: str) -> pytest.RunResult:
    return pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=canaries:agent", f"--sop-agent-arg=key={key}",
        "--sop-report=md=page.md", "--junitxml=junit.xml", "-ojunit_family=xunit1",
        "-osop_traces=all", "-rA", "-vv", "-Wdefault",
        "--log-file=log.log", "domains/lab/data.csv", "test_own.py", *more,
    )  # fmt: skip


def written(pytester: pytest.Pytester) -> dict[str, str]:
    kinds = {".jsonl", ".xml", ".md", ".log"}
    files = [one for one in pytester.path.rglob("*") if one.suffix in kinds and one.is_file()]
    return {one.relative_to(pytester.path).as_posix(): one.read_text("utf-8") for one in files}


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param((), id="plain"),
        pytest.param(("-n2", "--sop-concurrency=4"), id="in flight in two workers"),
    ],
)
def test_no_canary_leaves_a_session(
    planted: Path, pytester: pytest.Pytester, mode: tuple[str, ...]
) -> None:
    result = session(pytester, f"env:CANARY_{len(PLACES) - 1}", "--sop-gate=tsr=90%", *mode)

    files = written(pytester)
    assert 1 == result.ret
    assert {"page.md", "junit.xml", "log.log", ".sop/sessions/last.jsonl"} <= files.keys()
    assert 8 == sum(f".traces/{planted.name}/" in name for name in files)
    assert set() == leaks(result.stdout.str(), result.stderr.str(), *files.values())


def test_what_is_planted_is_found_where_nothing_is_masked(
    planted: Path, pytester: pytest.Pytester
) -> None:
    """The search itself is no good if it finds nothing then."""
    pytester.makeini("[pytest]")

    result = session(pytester, secret_of(PLACES[-1]))

    assert set(PLACES) == leaks(result.stdout.str(), *written(pytester).values())


@pytest.mark.parametrize(
    ("file", "text"),
    [
        pytest.param("canaries.py", "raise RuntimeError(KEY)", id="agent"),
        pytest.param("canaries.py", "import no_module\n", id="module that is not there"),
        pytest.param("domains/lab/tools.py", "raise KeyError(KEY)", id="tools.py"),
        pytest.param(
            "domains/lab/tools.py",
            "class LabManager:\n"
            "    def __init__(self): raise ValueError(KEY)\n"
            "    def process_tool_call(self, name, arguments): ...\n",
            id="manager",
        ),
        pytest.param("test_own.py", "raise ValueError(KEY)", id="collection"),
    ],
)
def test_no_canary_leaves_by_an_error_of_the_set_up(
    planted: Path, pytester: pytest.Pytester, file: str, text: str
) -> None:
    place = "lines in a message"
    key = f"import os\nKEY = {secret_of(place)!r}\n"
    (pytester.path / file).write_text(f"{key}{text}\nagent = print\n")

    result = pytester.runpytest(
        f"--sop-domain={planted.name}", "--sop-agent=canaries:agent",
        f"--sop-agent-arg=key={secret_of(place)}", "domains/lab/data.csv", "test_own.py",
        "--junitxml=j.xml",
    )  # fmt: skip

    assert result.ret
    assert set() == leaks(result.stdout.str(), result.stderr.str(), *written(pytester).values())
