"""Nothing that an agent or a domain leaves behind can end a session, least of all under xdist.

execnet carries a handful of types and no lone surrogate; whatever else a report holds would kill
the worker, and with the last worker the session.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import execnet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._hooks.items.transport import PAYLOAD, Payload, sanitised

LONE = "\\ud83d"

HOSTILE = r'''
import decimal, enum, pathlib, sys
from habits import number, right

LONE = "\ud83d"


class Number:
    """Like a number of numpy: it is none, and says that it is one."""

    def __init__(self, value): self.value = value
    def item(self): return self.value
    def __float__(self): return float(self.value)
    def __index__(self): return int(self.value)


class Unprintable:
    def __repr__(self): raise RuntimeError("no repr")
    __str__ = __repr__


class Loud(Exception):
    def __str__(self): raise RuntimeError("no message")


class Colour(str, enum.Enum):
    RED = "red"


def surrogate_answer(inputs, tools): return {"grade": LONE}
def surrogate_key(inputs, tools): return {LONE: "x", "grade": "pass"}
def surrogate_text(inputs, tools): return f"<grade>{LONE}</grade>"
def surrogate_error(inputs, tools): raise ValueError(LONE)
def surrogate_print(inputs, tools): print("before", LONE); return right(inputs, tools)
def surrogate_stderr(inputs, tools): print(LONE, file=sys.stderr); return {"grade": "unknown"}
def surrogate_argument(inputs, tools):
    tools.execute_tool("measure", {"sample_id": LONE, LONE: LONE})
    tools.execute_tool(LONE, {})
    return right(inputs, tools)
def numpy_value(inputs, tools): return {"grade": Number(3)}
def numpy_argument(inputs, tools):
    tools.execute_tool("measure", {"sample_id": Number(3)})
    return right(inputs, tools)
def decimal_value(inputs, tools): return {"grade": decimal.Decimal("1.5"), "p": pathlib.Path()}
def not_a_number(inputs, tools): return {"grade": float("nan"), "more": float("inf")}
def big_integer(inputs, tools): return {"grade": 10 ** 5000}
def member(inputs, tools): return {"grade": Colour.RED}
def long_text(inputs, tools): return "<grade>" + "x" * 10_000_000 + "</grade>"
def long_print(inputs, tools): print("x" * 10_000_000); return {"grade": "unknown"}
def long_error(inputs, tools): raise ValueError("x" * 10_000_000)
def unprintable(inputs, tools): return Unprintable()
def unprintable_value(inputs, tools): return {"grade": Unprintable()}
def unprintable_error(inputs, tools): raise Loud()
def endless(inputs, tools):
    answer = {}
    answer["grade"] = answer
    return answer
def deep(inputs, tools):
    answer = "pass"
    for _ in range(5000):
        answer = [answer]
    return {"grade": answer}
def zero_byte(inputs, tools): return {"grade": "\0\x1b[31m"}
def generator(inputs, tools): return (one for one in "abc")
def a_class(inputs, tools): return Number


ALL = [value for name, value in list(globals().items())
       if callable(value) and getattr(value, "__module__", "") == __name__
       and not isinstance(value, type)]


def agent(inputs, tools):
    """Each task has a habit of its own; every second one is right."""
    place = number(inputs)
    if place % 2:
        return right(inputs, tools)
    return ALL[place // 2 % len(ALL)](inputs, tools)
'''
HABITS = len(re.findall(r"^def \w+\(inputs, tools\)", HOSTILE, re.MULTILINE)) - 1


def test_nothing_that_an_agent_does_ends_a_session_and_workers_see_what_one_process_sees(
    pytester: pytest.Pytester,
    lab: Path,
    make_domain: Callable[..., Path],
    saved: Callable[[], Any],
) -> None:
    count = 2 * HABITS
    make_domain("ward", tasks=count)
    pytester.makepyfile(hostile=HOSTILE)
    args = ("--sop-domain=ward", "--agent=hostile:agent", "-rA")

    results = [pytester.runpytest(*args)]
    alone = saved()
    results.append(pytester.runpytest(*args, "-n2"))
    spread = saved()

    for result in results:
        outcomes = result.parseoutcomes()
        assert pytest.ExitCode.TESTS_FAILED == result.ret
        assert count == outcomes["passed"] + outcomes["failed"]
        assert set(outcomes) <= {"passed", "failed", "warnings"}
    assert [f"T_{place:02}" for place in range(1, count + 1)] == [*alone.outcomes]
    assert not {"crash", "not_run"} & {*alone.outcomes.values()}
    assert {"correct"} == {one for task, one in alone.outcomes.items() if int(task[2:]) % 2}

    def stable(run: dict[str, Any]) -> dict[str, Any]:
        own = {"crc", "duration_s", "problem", "trace"}
        return {name: run[name] for name in run if name not in own}

    assert [stable(run) for run in alone.runs] == [stable(run) for run in spread.runs]
    ignored = {"latency_median_s", "latency_p95_s", "durations_s"}
    lab_alone, lab_spread = alone.summary["domains"]["ward"], spread.summary["domains"]["ward"]
    assert {name: value for name, value in lab_alone.items() if name not in ignored} == {
        name: value for name, value in lab_spread.items() if name not in ignored
    }


def test_a_users_own_report_may_hold_a_lone_surrogate(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(
        test_lab=f"""
        import decimal, enum
        Kind = enum.StrEnum("Kind", ["SPOT"])
        def test_run(sop_run, record_property):
            record_property("one", "{LONE}")
            record_property("two", decimal.Decimal("1.5"))
            record_property("three", Kind.SPOT)
            print("{LONE}".encode("utf-8", "surrogatepass"))
            assert sop_run.answer.values["grade"] == "{LONE}"
        """
    )

    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:right", "test_lab.py", "-n2", "-p", "no:cacheprovider"
    )

    result.assert_outcomes(failed=6)


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["plain", "two workers"])
def test_only_what_workers_send_is_made_encodable(
    pytester: pytest.Pytester, lab: Path, mode: tuple[str, ...]
) -> None:
    """Another plugin may write reports of its own, and gets them as they are."""
    pytester.makeconftest(
        """
        import pytest

        class Writer:
            def __init__(self, config):
                self.config = config

            def pytest_runtest_logreport(self, report):
                data = self.config.hook.pytest_report_to_serializable(
                    config=self.config, report=report
                )
                with open("seen.txt", "a") as file:
                    file.write(ascii(dict(data["user_properties"])["lone"]) + "\\n")

        def pytest_configure(config):
            if not hasattr(config, "workerinput"):
                config.pluginmanager.register(Writer(config))

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport():
            report = yield
            report.user_properties.append(("lone", chr(0xD800)))
            return report
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right", *mode)

    result.assert_outcomes(passed=6)
    seen = set((pytester.path / "seen.txt").read_text().splitlines())
    assert len(seen) == 1
    assert (r"'\ud800'" in seen) == (not mode)


def test_the_outcome_reaches_junit_xml(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.runpytest(
        "--sop-domain=lab",
        "--agent=habits:always_pass",
        "--junitxml=junit.xml",
        "--sop-sample=first:1",
    )

    text = (pytester.path / "junit.xml").read_text()
    for name, value in (("domain", "lab"), ("task", "T_01"), ("outcome", "wrong")):
        assert f'<property name="sop.{name}" value="{value}"' in text


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.binary(max_size=5)
    | st.text(st.characters(exclude_categories=()), max_size=5)
    | st.decimals(allow_nan=False)
    | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.frozensets(st.integers(), max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=()), max_size=3), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(ANYTHING)
def test_whatever_a_report_holds_is_carried(value: Any) -> None:
    carried = execnet.loads(execnet.dumps(sanitised(value)))

    assert carried == sanitised(value)


def test_a_value_that_cannot_be_shown_is_named_by_its_type() -> None:
    class Unprintable:
        def __str__(self) -> str:
            raise RuntimeError

    assert "<Unprintable that cannot be shown>" == sanitised(Unprintable())


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(-(2**31) - 1, id="lower than execnet carries"),
        pytest.param(10**5000, id="longer than Python writes out"),
    ],
)
def test_a_number_out_of_bounds_becomes_text(number: int) -> None:
    assert number == int(sanitised(number), 16)


@given(st.text(max_size=20))
def test_text_that_is_encodable_is_left_alone(text: str) -> None:
    assert text == sanitised(text)


def test_a_payload_reaches_another_process_as_it_is() -> None:
    sent = Payload(plan="{}", line="{}", events="a\n", taken_over=True, is_rerun=False)
    report = a_report()
    setattr(report, PAYLOAD, sent)

    values = execnet.loads(execnet.dumps(sanitised(report._to_json())))

    assert sent == getattr(pytest.TestReport._from_json(values), PAYLOAD)


def a_report() -> pytest.TestReport:
    return pytest.TestReport("a.py::test", ("a.py", 1, "test"), {}, "passed", None, "call")
