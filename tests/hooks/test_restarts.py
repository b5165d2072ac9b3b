"""However many workers an agent kills, all runs are made; xdist alone gives up after a few."""

from __future__ import annotations

from collections import Counter

import pytest

from .conftest import ReadSaved


@pytest.mark.usefixtures("lab")
def test_tests_that_name_their_domain_by_a_mark_outlive_any_number_of_workers(
    pytester: pytest.Pytester, saved: ReadSaved
) -> None:
    pytester.makepyfile(
        deadly="""
        import os

        from habits import right

        def agent(inputs, tools):
            if inputs["sample_id"] != "T_01":
                os._exit(3)
            return right(inputs, tools)
        """,
        test_marked="""
        import pytest

        @pytest.mark.sop(domain="lab", trials=2)
        def test_it(sop_run):
            sop_run.assert_correct()
        """,
    )

    pytester.runpytest_subprocess("-n2", "--sop-agent=deadly:agent", "test_marked.py")

    assert {"correct": 2, "crash": 10} == Counter(run["outcome"] for run in saved().runs)
