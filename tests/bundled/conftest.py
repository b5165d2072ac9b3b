"""A bundled domain as plain files say it, read without the loader that others test."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bundled_domains.generator import Answer
from bundled_domains.rows import rows_of
from bundled_domains.worlds import answers_in

import pytest_sopbench
from pytest_sopbench._audit.policy_source import frozen
from pytest_sopbench.bundled import _phrases

BUNDLED = Path(pytest_sopbench.__file__).parent / "bundled"
FOLDERS = sorted(path.parent for path in BUNDLED.glob("*/metadata.json"))
WITH_TOOLS = [folder for folder in FOLDERS if (folder / "toolspecs.json").is_file()]
OF_DOCUMENTS = [folder for folder in FOLDERS if folder not in WITH_TOOLS]

DATA = ("data.csv", "tasks.jsonl")

EXCUSED = {
    # domain, rule and what it does not apply to: the reason, which a reviewer has read
    ("dangerous_goods", "a needed tool costs tasks", "record_class"): (
        "a write that answers the same to everybody; the contract asks for it"
    ),
    ("reservation_desk", "no label is frequent", "facts.name"): (
        "a fact and no decision; most calls end before a name is told"
    ),
    ("reservation_desk", "no label is frequent", "facts.reference"): (
        "a fact and no decision; new tables have none"
    ),
    ("reservation_desk", "no single column tells a label", "facts.reference"): (
        "that there is none is right on nine of ten calls; its step is what is decided"
    ),
    ("reservation_desk", "an input that is left out costs tasks", "weekday"): (
        "it can be worked out of the day of the call, and is a service to readers"
    ),
    **{
        ("stay_packages", "no label is frequent", f"season_nights.{season}"): (
            "most stays lie in one season, so that the two others have no night"
        )
        for season in ("low", "mid", "high")
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainDomain:
    folder: Path
    metadata: dict[str, Any]
    specs: dict[str, dict[str, Any]]
    rows: tuple[dict[str, Any], ...]
    decide: Callable[..., dict[str, Any]]

    def inputs(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {column: row[column] for column in self.metadata["input_columns"]}

    @property
    def data_file(self) -> Path:
        return next(self.folder / name for name in DATA if (self.folder / name).is_file())

    @property
    def distractors(self) -> set[str]:
        return set(self.metadata.get("distractors", ()))

    def excused(self, rule: str) -> set[str]:
        """To what this rule does not apply here; a test asks for exactly these."""
        return {what for name, of, what in EXCUSED if (name, of) == (self.metadata["name"], rule)}

    @property
    def has_tools(self) -> bool:
        return "output_schema" not in self.metadata

    @property
    def labels(self) -> dict[str, list[str]]:
        """What is to be decided, field by field; of a document, what is neither list nor object."""
        if self.has_tools:
            names = self.metadata["output_columns"]
            return {name: [frozen(row[name]) for row in self.rows] for name in names}
        shapes = [dict(scalars(self.expected(row))) for row in self.rows]
        paths = {path for shape in shapes for path in shape}
        # An object that may be null is decided by what lies in it.
        objects = {path[:-1] for path in paths}
        ignored = {(name,) for name in self.metadata["ignored_paths"]}
        return {
            ".".join(path): [frozen(shape.get(path)) for shape in shapes]
            for path in sorted(paths - objects - ignored)
        }

    def expected(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {column: row[column] for column in self.metadata["output_columns"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTools:
    """The tools of one run; `calls` are the names and arguments so far."""

    answer: Answer
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def call(self, name: str, /, **arguments: Any) -> Any:
        self.calls.append((name, arguments))
        return self.answer(name, arguments)


def scalars(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from scalars(part, (*path, name))
    elif not isinstance(value, list):
        yield path, value


@cache
def read(folder: Path) -> PlainDomain:
    if folder in OF_DOCUMENTS:
        return read_documents(folder)
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    specs = json.loads((folder / "toolspecs.json").read_text(encoding="utf-8"))
    return PlainDomain(
        folder=folder,
        metadata=metadata,
        specs={spec["toolSpec"]["name"]: spec["toolSpec"]["inputSchema"]["json"] for spec in specs},
        rows=tuple(rows_of(folder, metadata.get("types", {}))),
        decide=runpy.run_path(str(folder / "policy.py"))["decide"],
    )


def read_documents(folder: Path) -> PlainDomain:
    """A domain without tools, its rows laid out as those of the others are."""
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    lines = (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    tasks = [json.loads(line) for line in lines]
    columns = {
        "id_column": "id",
        "input_columns": list(tasks[0]["inputs"]),
        "output_columns": list(tasks[0]["expected"]),
        "tags_column": "tags",
        "tools": {},
    }
    return PlainDomain(
        folder=folder,
        metadata=metadata | columns,
        specs={},
        rows=tuple(
            {"id": task["id"], **task["inputs"], **task["expected"], "tags": ",".join(task["tags"])}
            for task in tasks
        ),
        decide=runpy.run_path(str(folder / "policy.py"))["decide"],
    )


# Each domain has all its tests of a file one after the other, so that what is made of it is kept.


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def every_domain(request: pytest.FixtureRequest) -> PlainDomain:
    return read(request.param)


@pytest.fixture(scope="module", params=WITH_TOOLS, ids=lambda folder: folder.name)
def domain_with_tools(request: pytest.FixtureRequest) -> PlainDomain:
    return read(request.param)


@pytest.fixture(scope="module", params=OF_DOCUMENTS, ids=lambda folder: folder.name)
def domain_of_documents(request: pytest.FixtureRequest) -> PlainDomain:
    return read(request.param)


@pytest.fixture
def one_phrase_book(monkeypatch: pytest.MonkeyPatch) -> None:
    """A phrase book is read once for all changes of a policy."""
    monkeypatch.setattr(_phrases, "PhraseBook", cache(_phrases.PhraseBook))


@pytest.fixture
def dangerous_goods() -> PlainDomain:
    return read(BUNDLED / "dangerous_goods")


@pytest.fixture
def order_fulfillment() -> PlainDomain:
    return read(BUNDLED / "order_fulfillment")


@pytest.fixture
def patient_intake() -> PlainDomain:
    return read(BUNDLED / "patient_intake")


@pytest.fixture
def aircraft_inspection() -> PlainDomain:
    return read(BUNDLED / "aircraft_inspection")


@pytest.fixture
def reservation_desk() -> PlainDomain:
    return read(BUNDLED / "reservation_desk")


@pytest.fixture
def stay_packages() -> PlainDomain:
    return read(BUNDLED / "stay_packages")


@pytest.fixture
def content_flagging() -> PlainDomain:
    return read(BUNDLED / "content_flagging")


@pytest.fixture
def warehouse_package_inspection() -> PlainDomain:
    return read(BUNDLED / "warehouse_package_inspection")


@pytest.fixture
def video_annotation() -> PlainDomain:
    return read(BUNDLED / "video_annotation")


@pytest.fixture
def referral_abuse_detection_v1() -> PlainDomain:
    return read(BUNDLED / "referral_abuse_detection_v1")


@pytest.fixture
def referral_abuse_detection_v2() -> PlainDomain:
    return read(BUNDLED / "referral_abuse_detection_v2")


@pytest.fixture
def traffic_spoofing_detection() -> PlainDomain:
    return read(BUNDLED / "traffic_spoofing_detection")


@pytest.fixture
def video_classification() -> PlainDomain:
    return read(BUNDLED / "video_classification")


@pytest.fixture
def tools_of() -> Callable[[PlainDomain, Mapping[str, Any]], PlainTools]:
    def make(domain: PlainDomain, row: Mapping[str, Any]) -> PlainTools:
        return PlainTools(answer=answers_in(domain.folder)(domain.metadata["tools"], row))

    return make
