"""Standard streams that somebody closes: they stay open, and it is told who did it."""

from __future__ import annotations

import io
from typing import Any

from pytest_sopbench._hooks.process.outgoing import KeptOpen


def test_a_stream_that_is_kept_open_is_not_closed_and_it_is_told_who_tried() -> None:
    stream, told = io.TextIOWrapper(io.BytesIO()), list[str]()
    kept = KeptOpen(told.append)
    kept.keep(stdout=stream)

    stream.close()

    assert not stream.closed
    (said,) = told
    assert said.startswith(f"sys.stdout was closed at {__file__}:")
    assert said.endswith("; it was kept open")


def test_a_stream_in_a_with_statement_is_not_closed_either() -> None:
    stream, told = io.TextIOWrapper(io.BytesIO()), list[str]()
    KeptOpen(told.append).keep(stdout=stream)

    with stream:
        stream.write("a")

    assert not stream.closed
    assert told


def test_a_stream_that_is_let_go_can_be_closed() -> None:
    stream, told = io.TextIOWrapper(io.BytesIO()), list[str]()
    kept = KeptOpen(told.append)
    kept.keep(stdout=stream)
    kept.keep(stdout=stream)

    kept.let_go()
    stream.close()

    assert stream.closed
    assert not told


def test_what_pytest_opened_for_a_test_it_closes_as_well() -> None:
    stream, told = io.TextIOWrapper(io.BytesIO()), list[str]()
    KeptOpen(told.append).keep(stdout=stream)
    of_pytest: dict[str, Any] = {"__name__": "_pytest.capture"}
    exec("def done(stream): stream.close()", of_pytest)  # noqa: S102 - who calls is what counts

    of_pytest["done"](stream)

    assert stream.closed
    assert [] == told


def test_a_stream_that_is_none_or_takes_no_attribute_is_left_alone() -> None:
    class Slotted(io.StringIO):
        __slots__ = ()

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    stream, told = Slotted(), list[str]()

    KeptOpen(told.append).keep(stdout=None, stderr=stream)
    stream.close()

    assert stream.closed
