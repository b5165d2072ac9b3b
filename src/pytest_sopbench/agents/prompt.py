"""Prompts: files with jinja2 templates, each with the blocks that an agent asks for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from pytest_sopbench.agents.clients.shared import load_sdk
from pytest_sopbench.errors import AgentSpecError

BLOCKS: Final = ("system", "user", "again")
"""What a prompt must have: what is said first, of a task, and where no answer was found."""

_OWN: Final = Path(__file__).parent / "prompts"


@dataclass(frozen=True, eq=False)
class Prompt:
    """A prompt that is ready to be rendered; `hash` changes with its text."""

    hash: str
    _template: Any

    def render(self, block: str, values: Mapping[str, object]) -> str:
        """Return one block with `values` in their places.

        Raises:
            AgentSpecError: the template asks for a value that there is none of.
        """
        made = self._template.new_context(dict(values))
        try:
            return "".join(self._template.blocks[block](made)).strip()
        except load_sdk("jinja2").TemplateError as fault:
            msg = f"prompt {self._template.filename}, block {block}: {fault}"
            hint = f"a prompt may use {', '.join(sorted(values))}"
            raise AgentSpecError(msg, hint=hint) from None


def load_prompt(
    name: str, path: str | Path | None = None, blocks: tuple[str, ...] = BLOCKS
) -> Prompt:
    """Return our prompt of that name, or the user's own in its place.

    Raises:
        AgentSpecError: it cannot be read, is no template, or lacks a block.
    """
    file = _OWN / f"{name}.md.jinja" if path is None else Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8"
        msg = f"prompt {file}: {reason}"
        raise AgentSpecError(msg, hint="prompt=PATH is a file with a jinja2 template") from None
    return _compiled(text, str(file), blocks)


@cache
def _compiled(text: str, file: str, blocks: tuple[str, ...]) -> Prompt:
    jinja2 = load_sdk("jinja2")
    # A misspelled name must not become an empty place in what a model is told.
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["json"] = _json
    try:
        template = environment.from_string(text)
    except jinja2.TemplateSyntaxError as fault:
        msg = f"prompt {file}, line {fault.lineno}: {fault.message}"
        raise AgentSpecError(msg, hint="it is a jinja2 template") from None
    template.filename = file
    missing = [block for block in blocks if block not in template.blocks]
    if missing:
        msg = f"prompt {file}: it has no block {missing[0]!r}"
        hint = f"write {{% block {missing[0]} %}}...{{% endblock %}}; it needs {', '.join(blocks)}"
        raise AgentSpecError(msg, hint=hint)
    return Prompt(hashlib.sha256(text.encode()).hexdigest()[:16], template)


def _json(value: object, indent: int | None = None) -> str:
    # jinja2's own `tojson` writes < and > for browsers, which a model would copy into arguments.
    return json.dumps(value, ensure_ascii=False, indent=indent)
