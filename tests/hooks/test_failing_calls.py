"""What a failure shows of the calls: the value that decides, whatever stands around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.lab import lab_metadata

REMARKS = "Returned late, and the driver asked for another one. " * 20
ESCAPE = "\x1b]0;title\x07"


def test_the_value_that_decides_stands_in_the_failure(lab: Path, pytester: pytest.Pytester) -> None:
    """It stands behind a long text; nobody has to ask for the whole run to see it."""
    pytester.makepyfile(
        looking="""
        def agent(inputs, tools):
            tools.call("measure", sample_id=inputs["sample_id"])
            return {"grade": "fail"}
        """
    )
    metadata = lab_metadata()
    metadata["tools"]["measure"]["returns"] = ["plate", "remarks", "owner", "reading"]
    (lab / "metadata.json").write_text(json.dumps(metadata))
    rows = ["sample_id,plate,remarks,owner,reading,grade"]
    rows.append(f"T_01,AB-12,{REMARKS.replace(',', ';')}{ESCAPE},Harbour Freight,90,pass")
    (lab / "data.csv").write_text("\n".join(rows))

    result = pytester.runpytest(f"--sop-domain={lab.name}", "--sop-agent=looking:agent")

    start = result.outlines.index("calls    1 measure(sample_id='T_01')")
    told = result.outlines[start + 1 : start + 4]
    assert told[0].startswith('           -> {"plate": "AB-12", "remarks": "Returned late')
    assert '"reading": 90}' in " ".join(line.strip() for line in told)
    assert max(map(len, told)) <= 80
    assert "\x1b" not in result.stdout.str()


def test_a_failed_assertion_shows_the_value_that_decides(
    lab: Path, pytester: pytest.Pytester
) -> None:
    metadata = lab_metadata()
    metadata["tools"]["measure"]["returns"] = ["remarks", "owner", "reading"]
    (lab / "metadata.json").write_text(json.dumps(metadata))
    row = f"T_01,{REMARKS.replace(',', ';')},Harbour Freight,90,pass"
    (lab / "data.csv").write_text(f"sample_id,remarks,owner,reading,grade\n{row}\n")
    file = pytester.makepyfile("def test_again(sop_run): sop_run.assert_called('measure', times=2)")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right", file)

    told = 'E          -> {"owner": "Harbour Freight", "reading": 90, ... 1 more}'
    assert told in result.outlines
    assert all(len(line) <= 80 for line in result.outlines if line.startswith("E "))
