"""An agent that asks a model: as a service by its official client, as a child by a plain request.

The client takes a second to import, and a child is a new process in each session or in each run.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from policy_tools import over_http

way, address = sys.argv[1:]


def completion(url: str | None, body: dict[str, Any]) -> dict[str, Any]:
    """Ask the model; without an address, where the environment says."""
    if way == "http":
        from openai import OpenAI  # noqa: PLC0415 - the reason stands above

        client = OpenAI(base_url=url, api_key="unused", max_retries=0)
        return client.chat.completions.create(**body).model_dump()
    asked = urllib.request.Request(
        f"{url or os.environ['OPENAI_BASE_URL']}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer unused"},
    )
    with urllib.request.urlopen(asked) as reply:
        found: dict[str, Any] = json.load(reply)
    return found


def answer(request: dict[str, Any]) -> dict[str, Any]:
    url = request["model_urls"].get("openai") if address == "told" else None
    if "http" in request["tools"]:
        call = over_http(request["tools"]["http"]["url"])
        call("measure", sample_id=request["inputs"]["sample_id"])
    said = {"role": "user", "content": f"{request['sop']}\n{json.dumps(request['inputs'])}"}
    reply = completion(url, {"model": "m-1", "messages": [said]})
    spent = reply["usage"]
    usage = {"input_tokens": spent["prompt_tokens"], "output_tokens": spent["completion_tokens"]}
    return {"output": {"grade": reply["choices"][0]["message"]["content"]}, "usage": usage}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(answer(request)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


match way:
    case "exec":
        print(json.dumps(answer(json.load(sys.stdin))))
    case "lines":
        print(json.dumps({"type": "ready", "protocol": 1}), flush=True)
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "run":
                run = message["run"]["id"]
                print(json.dumps({"type": "answer", "run": run, **answer(message)}), flush=True)
    case _:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_port, flush=True)
        server.serve_forever()
