"""The first runs of a fresh process, in flight: none of them imports what others import beside it.

Where modules import one another in a circle, two threads that import them at once may meet them
half made: "partially initialized module". What is imported in flight is therefore written down.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.builders.lab import write_lab

CHAT = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "pass"}}
    ],
}
RESPONSE = {
    "id": "1",
    "object": "response",
    "created_at": 0,
    "model": "m",
    "status": "completed",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
MESSAGE = {
    "id": "1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "pass"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
CONVERSED = {
    "output": {"message": {"role": "assistant", "content": [{"text": "pass"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}
REPLIES = {"chat": CHAT, "responses": RESPONSE, "messages": MESSAGE, "converse": CONVERSED}

AGENT = """
import asyncio
import sys
from threading import Barrier

{imports}

AT_ONCE = Barrier(5)
KNOWN = set()


def ask():
    {ask}


def agent(inputs):
    if AT_ONCE.wait(timeout=60) == 0:
        KNOWN.update(sys.modules)
    AT_ONCE.wait(timeout=60)
    ask()
    with open("late.txt", "a") as file:
        file.writelines(f"{{name}}\\n" for name in sys.modules.keys() - KNOWN)
    return {{"grade": "pass"}}
"""

CHAT_CALL = 'chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])'
MESSAGE_CALL = (
    'messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])'
)


class Provider(BaseHTTPRequestHandler):
    """Answers whatever it is asked, in the words of the API that was asked."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(next(reply for name, reply in REPLIES.items() if name in self.path))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("new_interpreters")
@pytest.mark.parametrize(
    ("imports", "ask"),
    [
        pytest.param(
            'import openai\nCLIENT = openai.OpenAI(base_url="@URL@/v1", api_key="k")\n\n\n'
            "async def later():\n"
            '    client = openai.AsyncOpenAI(base_url="@URL@/v1", api_key="k")\n'
            f"    await client.{CHAT_CALL}",
            f"CLIENT.{CHAT_CALL}\n"
            '    own = openai.OpenAI(base_url="@URL@/v1", api_key="k")\n'
            '    own.responses.create(model="m", input="")\n'
            "    asyncio.run(later())",
            id="openai: chat, responses by a client of each run, async",
        ),
        pytest.param(
            "import anthropic",
            f'anthropic.Anthropic(base_url="@URL@", api_key="k").{MESSAGE_CALL}',
            id="anthropic",
        ),
        pytest.param(
            'import boto3\nCLIENT = boto3.client("bedrock-runtime", endpoint_url="@URL@", '
            'region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")',
            'CLIENT.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "x"}]}])',
            id="bedrock",
        ),
    ],
)
def test_runs_in_flight_import_nothing_with_their_first_request(
    pytester: pytest.Pytester, provider: str, imports: str, ask: str
) -> None:
    if "anthropic" in imports:
        pytest.importorskip("anthropic")
    write_lab(pytester.path / "domains", tasks=5)
    pytester.makepyfile(desk=AGENT.format(imports=imports, ask=ask).replace("@URL@", provider))

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--sop-agent=desk:agent", "--sop-concurrency=16"
    )

    result.stdout.fnmatch_lines(["ECR   100.0%*"])
    assert [] == sorted({*Path("late.txt").read_text().split()})
