"""A domain that can be loaded, as the rules look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from pytest_sopbench._audit.measures.stump import flat_columns
from pytest_sopbench._audit.observing.observed import Observed
from pytest_sopbench._audit.reading.material import Folder
from pytest_sopbench._core.documents.comparing.canonical import canonical
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.metrics.labels import FieldLabels, answer_label, field_labels
from pytest_sopbench._core.model.task import OutputField, Task
from pytest_sopbench._core.values.json import JsonValue

SHOWN: Final = 5
"""Rows, values or names that a finding shows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """A domain with all of its tasks; equal only to itself, so that what is known of it is kept.

    Attributes:
        folder: what was read of its files.
        domain: the domain.
        tasks: its tasks, all of them at hand.
        observed: what its own code did; nothing where it has none, or was not run.
    """

    folder: Folder
    domain: Domain
    tasks: Sequence[Task] = field(default=())
    observed: Observed = field(default_factory=Observed)

    @property
    def data_file(self) -> str:
        return self.folder.data_file

    @property
    def metadata_file(self) -> str:
        return self.folder.metadata_file

    def text(self, name: str) -> str:
        """The text of a file; empty where there is none."""
        file = self.folder.files.get(name)
        return file.text if file is not None else ""

    @cached_property
    def id_column(self) -> str | None:
        """The input that holds the ids of the tasks."""
        for name in self.domain.input_columns:
            if all(str(task.inputs.get(name)) == task.id for task in self.tasks):
                return name
        return None

    @cached_property
    def compared(self) -> tuple[OutputField, ...]:
        """The output fields that ask for a certain value."""
        return tuple(one for one in self.domain.fields if one.name in self._readers)

    @cached_property
    def _readers(self) -> Mapping[str, FieldLabels]:
        return field_labels(self.domain.fields)

    def label(self, name: str, value: JsonValue) -> str:
        """The label that a value of an output field is counted under."""
        return self._readers[name].of(value)

    @cached_property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """The expected label of each row, by output field."""
        return {
            name: [reader.of(task.expected_as_written[name]) for task in self.tasks]
            for name, reader in self._readers.items()
        }

    @cached_property
    def answers(self) -> Sequence[str]:
        """The expected label of each row, for all fields jointly."""
        readers, rules = self._readers, self.domain.document
        if rules is not None:
            return [canonical(rules, task.expected) for task in self.tasks]
        return [answer_label(task.expected_as_written, readers) or "" for task in self.tasks]

    @cached_property
    def inputs(self) -> Mapping[str, Sequence[JsonValue]]:
        """The cells of the inputs, laid out flat, without the ids."""
        skipped = self.id_column
        rows = [
            {name: value for name, value in task.inputs.items() if name != skipped}
            for task in self.tasks
        ]
        return flat_columns(rows)

    @cached_property
    def served(self) -> Mapping[str, Sequence[JsonValue]]:
        """The cells of the columns that look-up tools serve, laid out flat."""
        names = {name for one in self.domain.lookups.values() for name in one.returns}
        rows = [
            {name: value for name, value in task.results.items() if name in names}
            for task in self.tasks
        ]
        return flat_columns(rows)

    def rows(self, positions: Sequence[int]) -> str:
        """Such as `3 rows (2, 7, 9)`, by the lines of the data file."""
        shown = ", ".join(str(self.tasks[one].line) for one in positions[:SHOWN])
        if len(positions) == 1:
            return f"row {shown}"
        more = f" and {len(positions) - SHOWN} more" if len(positions) > SHOWN else ""
        return f"{len(positions)} rows ({shown}{more})"

    def line(self, position: int) -> int:
        """The line on which a row starts."""
        return self.tasks[position].line
