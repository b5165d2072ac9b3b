"""The reference policy as a service that calls its tools by the official MCP client."""

from __future__ import annotations

import asyncio
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from mcp import Client
from policy_tools import answer, by_mcp

mode = sys.argv[1]
loop = asyncio.new_event_loop()
Thread(target=loop.run_forever, daemon=True).start()


async def decided(request: dict[str, Any]) -> dict[str, Any]:
    async with Client(request["tools"]["mcp"]["url"], mode=mode) as client:
        return await asyncio.to_thread(answer, request, by_mcp(client, loop))


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        made = asyncio.run_coroutine_threadsafe(decided(request), loop)
        body = json.dumps(made.result(120)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
