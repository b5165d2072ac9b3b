"""What the reference agents share: their model, their prompt, their settings, and how they run.

An agent that works in one dialogue adds only how it and its model speak of tools. So the simplest
of them stands here as well: function calling, which speaks as the provider does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

from pytest_sopbench.agents.clients import Named, make_client, server_of, shown_address
from pytest_sopbench.agents.clients.shared import load_sdk
from pytest_sopbench.agents.conversation import Message, ModelClient, Reply, StopReason
from pytest_sopbench.agents.dialogue import Dialogue, Finding, NativeProtocol, Step
from pytest_sopbench.agents.driving import RunTools, adrive, drive, schema_of
from pytest_sopbench.agents.settings import Connection, connection_of, parameters_of, whole
from pytest_sopbench.errors import AgentSpecError

BLOCKS: Final = ("system", "user", "again")
"""What a prompt must have: what is said first, of a task, and when no answer was found."""

_NOT_SETTINGS: Final = frozenset({"model", "client"})
"""Fields that the spec of an agent gives, and `--sop-agent-arg` does not."""

Number = float | str | None


@dataclass(frozen=True, kw_only=True)
class ModelAgent:
    """What the reference agents have in common: their model, and how it is reached and told.

    Every setting may be a text, as `--sop-agent-arg` gives it.

    Args:
        model: `openai/MODEL`, `openai-responses/MODEL` or `bedrock/MODEL`.
        client: a model client of your own, in place of `model`.
        prompt: a file of your own in place of the agent's prompt.
        max_turns: replies of the model after which the run ends as `call_limit`.
        max_context: tokens of one conversation after which the run ends as `call_limit`, as the
            provider counts them.
        temperature: given to the model, as are `top_p`, `max_tokens` (of one reply), `seed`,
            `reasoning_effort` and `parallel_tool_calls`; what is not set is left to the provider.
        extra_body: fields to send beside those of the client: a mapping, or the text of a JSON
            object.
        extra_headers: headers to send with each request, in the same form.
        base_url: of a server in place of the provider's own.
        api_key: in place of the one that the provider's client finds.
        region: of AWS.
        timeout: seconds of one request.
        max_retries: how often the provider's client repeats a request by itself.
        connections: how many are kept open; as many as runs are in flight.

    Raises:
        AgentSpecError: a setting cannot be used, or the provider's client cannot be made.
    """

    model: str = ""
    client: ModelClient | None = None
    prompt: str | Path | None = None
    max_turns: int | str = 50
    max_context: Number = None
    temperature: Number = None
    top_p: Number = None
    max_tokens: Number = None
    seed: Number = None
    reasoning_effort: str | None = None
    parallel_tool_calls: bool | str | None = None
    extra_body: Mapping[str, Any] | str | None = None
    extra_headers: Mapping[str, str] | str | None = field(default=None, repr=False)
    base_url: str | None = None
    api_key: str | None = None
    region: str | None = None
    timeout: Number = 300.0
    max_retries: Number = 2
    connections: Number = 64

    name: ClassVar[str] = ""
    """Of the agent's own prompt."""

    blocks: ClassVar[tuple[str, ...]] = BLOCKS
    """What its prompt must have."""

    prompt_hash: ClassVar[str] = ""
    """What changes with the text of the prompt; of each agent that was made."""

    setup: ClassVar[Mapping[str, Any]] = {}
    """What two sessions may differ in, without secrets; of each agent that was made."""

    def __post_init__(self) -> None:
        if self.client is None and not self.model:
            msg = f"{type(self).__name__}: neither a model nor a client is given"
            raise AgentSpecError(msg, hint="write model='openai/MODEL'")
        whole("max_turns", self.max_turns, least=1)
        self._max_context()
        # Whatever is wrong is said before the first run.
        self._client()
        object.__setattr__(self, "prompt_hash", self._prompt().hash)
        object.__setattr__(self, "setup", self._setup())

    def _client(self) -> ModelClient:
        if self.client is not None:
            return self.client
        connection = self._connection()
        client = make_client(self.model, parameters_of(self._settings()), connection)
        return Named(client, self.model, server_of(self.model, connection))

    def _setup(self) -> Mapping[str, Any]:
        parameters = {
            name: json.dumps(one, sort_keys=True) if isinstance(one, dict) else str(one)
            for name, one in parameters_of(self._settings()).items()
        }
        headers = ", ".join(name for name, _ in self._connection().extra_headers)
        server = shown_address(server_of(self.model, self._connection())) if self.model else ""
        return {
            "agent": self.name,
            "model": self.model,
            "prompt": f"{self.name}.md.jinja" if self.prompt is None else Path(self.prompt).name,
            "settings": {
                **parameters,
                "max_turns": str(whole("max_turns", self.max_turns)),
                **({"max_context": str(self._max_context())} if self.max_context else {}),
                # A header may well hold a key.
                **({"extra_headers": headers} if headers else {}),
                **({"server": server} if server else {}),
            },
        }

    def _max_context(self) -> int | None:
        held = self.max_context
        return None if held is None else whole("max_context", held, least=1)

    def _connection(self) -> Connection:
        return connection_of(self._settings())

    def _prompt(self) -> Prompt:
        return load_prompt(self.name, self.prompt, self.blocks)

    def _settings(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in settings_of(type(self))}


@dataclass(frozen=True, kw_only=True)
class DialogueAgent(ModelAgent):
    """An agent that works on a task in one dialogue, and speaks of tools in its own way."""

    def execute(
        self,
        sop: str,
        inputs: Mapping[str, Any],
        tools: RunTools,
        output_fields: Mapping[str, object],
    ) -> object:
        """Run the agent on one task, as the session does."""
        steps = self._steps(sop, inputs, tools, output_fields)
        return drive(steps, self._client(), tools, max_context=self._max_context())

    async def aexecute(
        self,
        sop: str,
        inputs: Mapping[str, Any],
        tools: RunTools,
        output_fields: Mapping[str, object],
    ) -> object:
        """As `execute`, for async code."""
        steps = self._steps(sop, inputs, tools, output_fields)
        return await adrive(steps, self._client(), tools, max_context=self._max_context())

    def protocol(self, tools: tuple[Mapping[str, Any], ...]) -> NativeProtocol:
        """Return how this agent and its model speak of tools."""
        return NativeProtocol(tools)

    def _steps(
        self,
        sop: str,
        inputs: Mapping[str, Any],
        tools: RunTools,
        output_fields: Mapping[str, object],
    ) -> Generator[Step, Any, Finding]:
        specs = tuple(tools.json_schema())
        prompt = self._prompt()
        schema = schema_of(tools)
        values: dict[str, object] = {
            "sop": sop,
            "inputs": inputs,
            "tools": specs,
            "output_fields": output_fields,
            "output_schema": schema,
            "text": "",
            "cut_off": False,
        }

        def again(reply: Reply) -> str:
            cut_off = reply.stop is StopReason.LENGTH
            more = {"text": reply.message.text, "cut_off": cut_off}
            return prompt.render("again", {**values, **more})

        steps = Dialogue(
            self.protocol(specs),
            opening=(
                Message(role="system", text=prompt.render("system", values)),
                Message(role="user", text=prompt.render("user", values)),
            ),
            again=again,
            output_fields=output_fields,
            max_turns=whole("max_turns", self.max_turns, least=1),
        ).steps()
        finding: Finding = yield from steps
        return replace(finding, text=self.document(finding.text)) if schema else finding

    def document(self, text: str) -> str:
        """Return the part of the last reply that is the answer, if this is a document."""
        return text


def settings_of(kind: type[ModelAgent]) -> tuple[str, ...]:
    """Return the names of the settings that an agent takes."""
    return tuple(one.name for one in fields(kind) if one.name not in _NOT_SETTINGS)


# Function calling: the model asks for tools in its provider's own way.


@dataclass(frozen=True, kw_only=True)
class FunctionCalling(DialogueAgent):
    """An agent whose model calls tools natively, several in one reply if it likes."""

    name: ClassVar[str] = "function_calling"


# Prompts: files with jinja2 templates, each with the blocks that an agent asks for.

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
