"""What the generators of domains without tools share: tasks whose answer is a document."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = "tasks.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Writes the tasks of the domain in `folder`; `rows` have inputs, expected answer and tags."""

    folder: Path
    rows: Callable[[], Sequence[Mapping[str, Any]]]

    def main(self, arguments: Sequence[str]) -> int | str:
        """Write the file, or tell with `--check` whether it would differ."""
        if list(arguments) not in ([], ["--check"]):
            return "usage: python -m bundled_domains.NAME.generate [--check]"
        content = "".join(json.dumps(row) + "\n" for row in self.rows()).encode()
        path = self.folder / DATA
        if not arguments:
            path.write_bytes(content)
        elif not path.is_file() or path.read_bytes() != content:
            return f"{DATA} differs from what its generator writes; run it without --check"
        return 0
