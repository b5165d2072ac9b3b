# ruff: noqa: T201 - what is printed is what is tested
"""What runs write: to their own buffers, with the streams left where they are."""

from __future__ import annotations

import asyncio
import contextvars
import io
import sys
import threading
from typing import Any

import pytest

from pytest_sopbench._core.hiding import masking
from pytest_sopbench._running.observing.capture import MARGIN, Output, captured, route_streams


def test_output_is_kept_and_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()

    with captured(output):
        print("kept")
        print("too", file=sys.stderr)
    print("shown")

    assert "kept\ntoo\n" == output.text
    assert ("shown\n", "") == capsys.readouterr()


def test_output_may_be_shown_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()

    with captured(output, "tee"):
        print("both")

    assert "both\n" == output.text
    assert "both\n" == capsys.readouterr().out


def test_the_inner_capture_ends_where_the_outer_goes_on() -> None:
    outer, inner = Output(), Output()

    with captured(outer):
        print("a")
        with captured(inner):
            print("b")
        print("c")

    assert ("a\nc\n", "b\n") == (outer.text, inner.text)


def test_threads_and_tasks_write_to_the_run_whose_context_they_carry(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outputs = [Output() for _ in range(8)]

    async def run(number: int) -> None:
        with captured(outputs[number]):
            for _ in range(20):
                print(number)
                await asyncio.sleep(0)
            context = contextvars.copy_context()
            thread = threading.Thread(target=context.run, args=(print, "thread", number))
            thread.start()
            thread.join()

    async def every() -> None:
        await asyncio.gather(*(run(number) for number in range(8)))

    asyncio.run(every())
    foreign = threading.Thread(target=print, args=("foreign",))
    foreign.start()
    foreign.join()

    assert [f"{n}\n" * 20 + f"thread {n}\n" for n in range(8)] == [o.text for o in outputs]
    assert "foreign\n" == capsys.readouterr().out


def test_a_stream_is_routed_once() -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    route_streams(stream, None)
    routed = stream.write

    route_streams(stream)

    assert routed is stream.write


def test_a_stream_that_cannot_be_routed_is_left_alone() -> None:
    class Fixed:
        __slots__ = ("text",)

        def __init__(self) -> None:
            self.text = ""

        def write(self, text: str) -> int:
            self.text += text
            return len(text)

    stream: Any = Fixed()

    route_streams(stream)
    stream.write("as ever")

    assert "as ever" == stream.text


def test_endless_output_is_cut() -> None:
    output = Output(limit=10)

    for _ in range(MARGIN):
        output.write("1234")

    assert "1234123412\n[more output was left out]\n" == output.text


def test_a_secret_is_masked_also_where_the_output_is_cut() -> None:
    with masking(lambda text: text.replace("sk-12345", "***")):
        output = Output(limit=10)

    output.write(f"12345678sk-12345{'.' * MARGIN}")

    assert "12345\n[more output was left out]\n" == output.text


def test_what_is_not_text_is_refused_as_a_stream_does() -> None:
    wrong: Any = b"bytes"

    with captured(Output()), pytest.raises(TypeError, match="must be str, not bytes"):
        sys.stdout.write(wrong)


def test_a_broken_character_is_escaped() -> None:
    output = Output()

    output.write("\ud83d")

    assert "\\ud83d" == output.text


@pytest.mark.parametrize("stream", [None, 5])
def test_what_is_no_stream_stands_in_nobodys_way(
    monkeypatch: pytest.MonkeyPatch, stream: Any
) -> None:
    output = Output()
    monkeypatch.setattr(sys, "stdout", stream)

    with captured(output):
        print("kept", file=sys.stderr)

    assert "kept\n" == output.text
