# ruff: noqa: INP001, S603 - a script in a folder of its own, which starts what it is given
"""A stand-in for a model, so that `function-calling:openai/MODEL` runs without a key or a network.

It speaks OpenAI's chat completions on this machine, and sees nothing but the requests. What a
model would make of the procedure, the domain's reference policy does. Tokens are estimated.

    python stub_model.py COMMAND...     runs the command where the OpenAI client finds the stub
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest_sopbench
from pytest_sopbench import ToolError


class CallNeededError(Exception):
    """The procedure cannot go on before this call is made."""


def policy() -> Any:
    """Load the reference policy of the bundled domain, which is a file and no module."""
    path = Path(pytest_sopbench.__file__).parent / "bundled" / "dangerous_goods" / "policy.py"
    spec = importlib.util.spec_from_file_location("stub_policy", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.decide


DECIDE = policy()


def answered(answer: Mapping[str, Any]) -> str:
    """Write an answer as the reference agents ask for it."""
    return f"<final_output>{json.dumps(answer)}</final_output>"


def reply(
    messages: list[Mapping[str, Any]],
    decide: Callable[[Any, Any], Any] = DECIDE,
    written: Callable[[Any], str] = answered,
) -> dict[str, Any]:
    """Say what comes next: the next call of the procedure, or the answer."""
    results = iter(results_of(messages))

    def call(name: str, **arguments: Any) -> Any:
        for result in results:
            if "error" in result:
                raise ToolError(result["error"])
            return result
        raise CallNeededError(name, arguments)

    try:
        answer = decide(inputs_of(messages), call)
    except CallNeededError as needed:
        name, arguments = needed.args
        function = {"name": name, "arguments": json.dumps(arguments)}
        asked = {"id": f"call_{len(messages)}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [asked]}
    return {"role": "assistant", "content": written(answer)}


def inputs_of(messages: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the first JSON object in what the user said."""
    said = next(str(one["content"]) for one in messages if one["role"] == "user")
    found: dict[str, Any] = json.JSONDecoder().raw_decode(said, said.index("{"))[0]
    return found


def results_of(messages: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the results of the calls that were made, in their order."""
    return (json.loads(one["content"]) for one in messages if one["role"] == "tool")


class Handler(BaseHTTPRequestHandler):
    """Answers one connection, which the client keeps open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(sent)
        message = self.reply(body["messages"])
        tokens_in, tokens_out = len(sent) // 4, len(json.dumps(message)) // 4
        completion = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
            },
        }
        data = json.dumps(completion).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def reply(self, messages: list[Mapping[str, Any]]) -> dict[str, Any]:
        """Say what comes next."""
        return reply(messages)

    def log_message(self, *_: object) -> None:
        """Say nothing of it."""


class Server(ThreadingHTTPServer):
    """The stub, on a free port of this machine."""

    daemon_threads = True
    request_queue_size = 128


def served(command: list[str], handler: type[Handler] = Handler, folder: Path | None = None) -> int:
    """Serve while the command runs, where its client looks, and return how it ended."""
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found = {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
        "OPENAI_API_KEY": "none-is-needed",
        "NO_PROXY": "127.0.0.1",
    }
    env = {**os.environ, **found}
    return subprocess.run(command, cwd=folder, env=env, check=False).returncode


def main() -> int:
    """Serve while the command runs, and end as it ends."""
    return served(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
