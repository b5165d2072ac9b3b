from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench.errors import LoadingError
from tests.builders.domains import is_domain_folder, read_metadata


def problem_of(folder: Path) -> str:
    with pytest.raises(LoadingError) as caught:
        read_metadata(folder)
    return caught.value.problem


def test_json_and_toml_say_the_same(make_domain: Callable[..., Path]) -> None:
    folder = make_domain(title="Parcels", outputs={"route": {"aliases": {"n": "north"}}})
    toml = (
        'name = "parcels"\noutput_columns = ["route"]\ninput_columns = ["parcel_id", "label"]\n'
        'title = "Parcels"\noutputs.route.aliases.n = "north"\n'
        'tools.weigh_parcel = { key = ["parcel_id"], returns = ["weight"] }\n'
    )
    other = make_domain({"metadata.json": None, "domain.toml": toml}, folder="other")

    assert read_metadata(folder).metadata == read_metadata(other).metadata
    assert is_domain_folder(other)


def test_a_folder_with_sop_and_tasks_that_nothing_describes_is_not_passed_over(
    make_domain: Callable[..., Path],
) -> None:
    folder = make_domain({"metadata.json": None})

    assert is_domain_folder(folder)
    assert "not a domain: it has neither metadata.json nor domain.toml" == problem_of(folder)


def test_a_folder_with_an_sop_alone_is_no_domain(tmp_path: Path) -> None:
    (tmp_path / "sop.md").write_text("1. Ship it.", encoding="utf-8")

    assert not is_domain_folder(tmp_path)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({"name": None}, "key 'name' is missing", id="no-name"),
        pytest.param(
            {"name": None, "output_columns": None},
            "key 'name' is missing; key 'output_columns' is missing",
            id="two-keys-missing",
        ),
        pytest.param(
            {"output_columns": "route"},
            "key 'output_columns' is 'route': input should be a valid list",
            id="a-text-for-a-list",
        ),
        pytest.param(
            {"output_columns": []},
            "key 'output_columns' is []: value should have at least 1 item after validation, not 0",
            id="none",
        ),
        pytest.param(
            {"input_columns": ["a", "b", "a"]},
            "key 'input_columns' is ['a', 'b', 'a']: 'a' stands twice",
            id="a-column-twice",
        ),
        pytest.param(
            {"outputs": {"route": {"type": "colour"}}},
            "key 'outputs.route.type' is 'colour': input should be 'boolean', 'integer',"
            " 'number', 'date', 'list', 'enum' or 'text'",
            id="an-unknown-type",
        ),
        pytest.param(
            {"types": {"label": "written"}},
            "key 'types.label' is 'written': input should be 'text', 'number', 'boolean' or 'list'",
            id="a-type-of-ours-alone",
        ),
        pytest.param(
            {"reject_bad_arguments": "yes"},
            "key 'reject_bad_arguments' is 'yes': input should be a valid boolean",
            id="yes-for-true",
        ),
        pytest.param(
            {"tools": {"t": {"missing": "ignore"}}},
            "key 'tools.t.missing' is 'ignore': input should be 'error' or 'null'",
            id="a-word-of-missing",
        ),
        pytest.param(
            {"title": ["x" * 99]},
            f"key 'title' is ['{'x' * 55}...: input should be a valid string",
            id="a-long-value-is-cut",
        ),
    ],
)
def test_a_key_at_fault_is_named_with_its_value(
    make_domain: Callable[..., Path], keys: dict[str, Any], expected: str
) -> None:
    assert expected == problem_of(make_domain(**keys))


@pytest.mark.parametrize("name", ["../evil", "", ".hidden", "a b", "a/b", "-x", "é", "a\n", "C:x"])
def test_a_hostile_name_is_refused(make_domain: Callable[..., Path], name: str) -> None:
    problem = problem_of(make_domain(name=name))

    assert problem.startswith(f"key 'name' is {name!r}: a domain's name has letters")


def test_many_problems_are_counted_and_not_all_shown(make_domain: Callable[..., Path]) -> None:
    outputs = {f"field{place}": {"ordered": 3} for place in range(6)}

    problem = problem_of(make_domain(outputs=outputs))

    assert problem.endswith("; and 2 more")


def test_a_misspelt_required_key_is_recognised(make_domain: Callable[..., Path]) -> None:
    with pytest.raises(LoadingError) as caught:
        read_metadata(make_domain(output_columns=None, output_column=["route"]))

    assert "'output_column' is there; is 'output_columns' meant?" == caught.value.hint


def test_of_missing_keys_only_those_that_something_resembles_have_a_hint(
    make_domain: Callable[..., Path],
) -> None:
    with pytest.raises(LoadingError) as caught:
        read_metadata(make_domain(name=None, output_columns=None, answers=["route"], nam="x"))

    assert "'nam' is there; is 'name' meant?" == caught.value.hint


@pytest.mark.parametrize("key", ["ordered_paths", "ignored_paths", "roles", "class"])
def test_a_key_of_documents_needs_a_schema(make_domain: Callable[..., Path], key: str) -> None:
    with pytest.raises(LoadingError, match=f"key '{key}' is for .* 'output_schema' is missing"):
        read_metadata(make_domain(**{key: {}}))


def test_unknown_keys_are_warned_of_with_the_nearest_known_one(
    make_domain: Callable[..., Path],
) -> None:
    folder = make_domain(
        license="MIT",
        qqqq=1,
    )

    warnings = read_metadata(folder).warnings

    assert [
        "license' is unknown and has no effect; is 'licence' meant?",
        "qqqq' is unknown and has no effect",
    ] == [text.removeprefix("metadata.json: key '") for text in warnings]


@pytest.mark.parametrize(
    ("slip", "key", "meant"),
    [
        pytest.param(
            {"outputs": {"route": {"tolerence": 1}}},
            "outputs.route.tolerence",
            "tolerance",
            id="of an output",
        ),
        pytest.param(
            {"tools": {"weigh_parcel": {"return": []}}},
            "tools.weigh_parcel.return",
            "returns",
            id="of a tool",
        ),
        pytest.param({"contracts": {"rules": []}}, "contracts", "contract", id="of the contract"),
        pytest.param({"rules": []}, "rules", "contract", id="rules out of place"),
        pytest.param(
            {"private_colums": []}, "private_colums", "private_columns", id="of what is private"
        ),
    ],
)
def test_a_slip_that_would_switch_something_off_is_refused(
    make_domain: Callable[..., Path], slip: dict[str, object], key: str, meant: str
) -> None:
    """A rule or a tolerance that is off in silence would let a wrong run pass."""
    folder = make_domain(**slip)

    with pytest.raises(LoadingError) as caught:
        read_metadata(folder)

    assert f"key {key!r} is unknown" in caught.value.problem
    assert f"is {meant!r} meant?" == caught.value.hint


@pytest.mark.parametrize("tolerance", [True, "0.5"])
def test_a_tolerance_that_is_no_number_is_refused(
    make_domain: Callable[..., Path], tolerance: object
) -> None:
    problem = problem_of(make_domain(outputs={"weight": {"tolerance": tolerance}}))

    assert problem.startswith("key 'outputs.weight.tolerance'")


def test_numbers_for_texts_are_taken_as_written(make_domain: Callable[..., Path]) -> None:
    assert "2" == read_metadata(make_domain(version=2)).metadata.version


def test_numbers_that_json_lacks_are_refused_in_toml(make_domain: Callable[..., Path]) -> None:
    toml = 'name = "a"\noutput_columns = ["route"]\ntools.t.result = nan\n'

    problem = problem_of(make_domain({"metadata.json": None, "domain.toml": toml}))

    assert "key 'tools.t.result' is nan: nan and inf are no JSON values" == problem


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"metadata.json": None},
            "not a domain: it has neither metadata.json nor domain.toml",
            id="neither",
        ),
        pytest.param(
            {"domain.toml": "name = 'a'"}, "has both metadata.json and domain.toml", id="both"
        ),
        pytest.param({"metadata.json": "[]"}, "not a JSON object with keys", id="a-list"),
    ],
)
def test_a_folder_says_once_what_it_is(
    make_domain: Callable[..., Path], files: dict[str, str | None], expected: str
) -> None:
    assert expected == problem_of(make_domain(files))


def test_a_brace_too_many_is_told_with_its_line(make_domain: Callable[..., Path]) -> None:
    content = json.dumps({"name": "a", "output_columns": ["route"]}) + "\n}"

    with pytest.raises(LoadingError) as caught:
        read_metadata(make_domain({"metadata.json": content}))

    assert 2 == caught.value.row
    assert "remove what follows: '}'" == caught.value.hint
