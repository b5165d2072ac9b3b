"""Which model judges, and how it is asked: `sop_judge = openai/MODEL temperature=0`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from pytest_sopbench.agents.clients import Named, make_client, server_of, shown_address
from pytest_sopbench.agents.conversation import ModelClient
from pytest_sopbench.agents.settings import Connection, connection_of, parameters_of
from pytest_sopbench.errors import AgentSpecError, JudgeError

from .asking import prompt_hash

OPTION: Final = "sop_judge"
ENV: Final = "env:"
TEMPERATURE: Final = "temperature"
NOT_SET: Final = "none"

_PARAMETERS: Final = (TEMPERATURE, "top_p", "max_tokens", "seed", "reasoning_effort")
_CONNECTION: Final = ("base_url", "api_key", "region", "timeout", "max_retries", "connections")
_DEFAULTS: Final = {"timeout": "50", "max_retries": "2", "connections": "64"}
_ADVICE: Final = "write sop_judge = openai/MODEL, and settings behind it: temperature=none"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSetting:
    """A model judge as the project sets it.

    Attributes:
        model: `PROVIDER/MODEL`.
        parameters: what the model is given beside the conversation, as text.
        connection: how its provider is reached.
        server: the address of another server than the provider's own, without passwords.
    """

    model: str
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    connection: Connection = field(default_factory=Connection, repr=False)
    server: str = ""

    @property
    def settings(self) -> Mapping[str, str]:
        """What a judgement depends on beside its question; no secret is among it."""
        return {
            "model": self.model,
            "prompt": prompt_hash(),
            **({"server": self.server} if self.server else {}),
            **self.parameters,
        }

    def client(self, *, with_temperature: bool = True) -> ModelClient:
        """Make the client.

        Raises:
            JudgeError: its library or its key is missing, or it does not take a setting.
        """
        given = {
            name: one
            for name, one in self.parameters.items()
            if with_temperature or name != TEMPERATURE
        }
        try:
            client = make_client(self.model, parameters_of(given), self.connection)
        except AgentSpecError as error:
            raise _as_judge_error(error) from None
        return Named(client, self.model, self.server)


def read_setting(words: Sequence[str]) -> JudgeSetting | None:
    """Read `PROVIDER/MODEL KEY=VALUE...`; `None` where no judge is set.

    The temperature is 0 unless another one is given; `temperature=none` leaves it to the provider.

    Raises:
        JudgeError: a word means nothing, or the provider is not known.
    """
    if not words:
        return None
    model, *rest = words
    if "=" in model:
        msg = f"{OPTION}: the model is missing before {model!r}"
        raise JudgeError(msg, hint=_ADVICE)
    given = dict(map(_pair, rest))
    if len(given) < len(rest):
        msg = f"{OPTION}: a setting is given twice: {' '.join(rest)}"
        raise JudgeError(msg, hint=_ADVICE)
    connection: dict[str, str | None] = dict.fromkeys(_CONNECTION)
    connection |= _DEFAULTS
    connection |= {name: one for name, one in given.items() if name in _CONNECTION}
    connection["api_key"] = _key(given.get("api_key"))
    parameters: dict[str, str] = {TEMPERATURE: "0"}
    parameters |= {name: one for name, one in given.items() if name in _PARAMETERS}
    if parameters[TEMPERATURE] == NOT_SET:
        del parameters[TEMPERATURE]
    try:
        parameters_of(parameters)
        reached = connection_of(connection)
        server = shown_address(server_of(model, reached))
    except AgentSpecError as error:
        raise _as_judge_error(error) from None
    except KeyError:
        # An unknown provider; the client says which there are.
        reached, server = connection_of(connection), ""
    return JudgeSetting(
        model=model, parameters=dict(sorted(parameters.items())), connection=reached, server=server
    )


def _pair(word: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    known = (*_PARAMETERS, *_CONNECTION)
    if not sign or not value:
        msg = f"{OPTION}: {word!r} is no KEY=VALUE"
        raise JudgeError(msg, hint=_ADVICE)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        told = f"did you mean {near[0]}? " if near else ""
        msg = f"{OPTION}: there is no setting {name!r}"
        raise JudgeError(msg, hint=f"{told}the settings are {', '.join(known)}")
    return name, value


def _key(value: str | None) -> str | None:
    if value is None:
        return None
    if not value.startswith(ENV):
        # A file of the project is no place for a key, and the message must not repeat it.
        msg = f"{OPTION}: api_key holds a key itself"
        raise JudgeError(msg, hint="write api_key=env:NAME, and set that variable")
    name = value.removeprefix(ENV)
    if not os.environ.get(name):
        msg = f"{OPTION}: api_key: the environment has no variable {name!r}, or it is empty"
        raise JudgeError(msg, hint="set it, or name another")
    return os.environ[name]


def _as_judge_error(error: AgentSpecError) -> JudgeError:
    return JudgeError(f"{OPTION}: {error.message}", hint=error.hint)
