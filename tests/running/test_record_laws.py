"""Laws of the record: whatever is called with whatever, it is taken down and JSON can say it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
        | st.frozensets(st.integers(), max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(["get_score", "send_letter"]) | st.text()
quick = settings(
    max_examples=60,
    deadline=None,
    # The bench holds no state that one example could leave for the next.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@quick
@given(calls=st.lists(st.tuples(NAMES, VALUES), max_size=6))
def test_every_call_is_recorded_in_words_that_json_has(
    bench: Any, calls: list[tuple[str, Any]]
) -> None:
    toolbox = bench.toolbox()

    for name, arguments in calls:
        toolbox.tools.execute_tool(name, arguments)

    recorded = toolbox.log.calls
    assert len(calls) == len(recorded)
    for call in recorded:
        said = json.dumps([call.name, call.arguments, call.result, call.error], allow_nan=False)
        assert said.encode("utf-8")
        assert (call.error is None) is call.succeeded


@quick
@given(given_id=VALUES)
def test_no_argument_but_the_rows_own_key_opens_the_record(bench: Any, given_id: Any) -> None:
    toolbox = bench.toolbox()

    result = toolbox.tools.execute_tool("get_score", {"parcel_id": given_id})

    assert ("error" in result) is (given_id not in ("PX1", b"PX1"))
