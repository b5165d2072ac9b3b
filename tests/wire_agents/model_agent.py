"""An agent that asks a model by its official client, as a service or as a child."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from openai import OpenAI
from policy_tools import over_http

way, address = sys.argv[1:]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    # Without an address of the run the client asks where its environment says.
    url = request["model_urls"].get("openai") if address == "told" else None
    client = OpenAI(base_url=url, api_key="unused", max_retries=0)
    if "http" in request["tools"]:
        call = over_http(request["tools"]["http"]["url"])
        call("measure", sample_id=request["inputs"]["sample_id"])
    said = {"role": "user", "content": f"{request['sop']}\n{json.dumps(request['inputs'])}"}
    reply = client.chat.completions.create(model="m-1", messages=[said])
    spent = reply.usage
    usage = {"input_tokens": spent.prompt_tokens, "output_tokens": spent.completion_tokens}
    return {"output": {"grade": reply.choices[0].message.content}, "usage": usage}


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
