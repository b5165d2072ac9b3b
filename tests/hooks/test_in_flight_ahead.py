"""How many runs are begun before their tests come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

MakeDomain = Callable[..., Path]

COUNTING = """
import os
import threading

lock, full = threading.Lock(), threading.Event()
inside = 0


def agent(inputs, tools):
    global inside
    with open("starts.txt", "a") as file:
        file.write(f"{os.getpid()}\\n")
    with lock:
        inside += 1
        if inside == int(os.environ["EXPECTED"]):
            full.set()
    assert full.wait(60), "never so many in flight"
    return "<grade>unknown</grade>"
"""


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("options", "each", "most"),
    [
        pytest.param(("-x",), 4, 5, id="-x"),
        pytest.param(("--maxfail=2",), 4, 6, id="maxfail"),
        pytest.param(("-x", "-n2"), 2, 3, id="two workers"),
    ],
)
def test_under_x_the_look_ahead_is_the_concurrency(
    pytester: pytest.Pytester,
    make_domain: MakeDomain,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    each: int,
    most: int,
) -> None:
    """What is begun beyond the test that ends the session is paid for in vain."""
    make_domain("long", tasks=40)
    pytester.makepyfile(counting=COUNTING)
    monkeypatch.setenv("EXPECTED", str(each))

    pytester.runpytest(
        "--sop-domain=long", "--agent=counting:agent", "--sop-concurrency=4", *options
    )

    starts = Counter((pytester.path / "starts.txt").read_text().split())
    assert all(each <= count <= most for count in starts.values()), starts


@pytest.mark.usefixtures("lab")
def test_without_x_the_look_ahead_is_wider(
    pytester: pytest.Pytester, make_domain: MakeDomain
) -> None:
    """The first test waits for a run that ends when all that may be ahead of it have begun."""
    make_domain("long", tasks=40)
    pytester.makepyfile(
        wide="""
        import threading
        from habits import right

        lock, others, begun = threading.Lock(), threading.Event(), []

        def agent(inputs, tools):
            with lock:
                begun.append(inputs["sample_id"])
                if len(begun) == 17:
                    others.set()
            if inputs["sample_id"] == "T_01":
                assert others.wait(60)
                with open("begun.txt", "w") as file:
                    file.write(" ".join(begun))
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest("--sop-domain=long", "--agent=wide:agent", "--sop-concurrency=2")

    begun = (pytester.path / "begun.txt").read_text().split()
    result.assert_outcomes(passed=40)
    assert {f"T_{n:02}" for n in range(1, 18)} == set(begun)
