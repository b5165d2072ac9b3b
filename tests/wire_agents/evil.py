"""A service that does what its path says, none of it well: it prints its port."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path
from typing import Any

ANSWER = json.dumps({"output": {"hazard_class": "Hazard Class B"}}).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        getattr(self, self.path.strip("/").replace("-", "_"))(json.loads(body))

    def do_GET(self) -> None:
        self.say(202, b"", Location="/polled-for-ever")

    def do_DELETE(self) -> None:
        print("deleted", file=sys.stderr, flush=True)
        self.say(204, b"")

    def say(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(body)

    def well(self, _: Any) -> None:
        self.say(200, ANSWER)

    def admits(self, _: Any) -> None:
        """Answer, and say that it failed, by one key and by the other in turn."""
        self.say(200, json.dumps(json.loads(ANSWER) | next(failures)).encode())

    def dies(self, _: Any) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def hangs(self, _: Any) -> None:
        threading.Event().wait(600)

    def trickles(self, _: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            self.wfile.write(b"1\r\n \r\n")
            time.sleep(0.01)

    def html(self, _: Any) -> None:
        self.say(200, b"<html><body>hazard_class: Hazard Class B</body></html>", "text/html")

    def floods(self, _: Any) -> None:
        self.say(200, b" " * 100_000_000 + ANSWER)

    def half(self, _: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER[: len(ANSWER) // 2])
        self.close_connection = True

    def broken(self, _: Any) -> None:
        self.say(200, ANSWER[:-1])

    def empty(self, _: Any) -> None:
        self.say(200, b"")

    def redirects(self, _: Any) -> None:
        self.say(307, b"", Location="/well")

    def redirects_away(self, _: Any) -> None:
        self.say(307, b"", Location="http://127.0.0.1:9/well")

    def refuses(self, _: Any) -> None:
        self.say(400, b'{"error": "no such\\nagent"}')

    def is_busy(self, _: Any) -> None:
        self.say(503, b"come back later", Retry_After="0")

    def waits(self, _: Any) -> None:
        self.say(202, b"", Location="/job")

    def goes_on(self, request: Any) -> None:
        """Answer, and call a tool afterwards."""
        url = request["tools"]["http"]["url"]
        self.say(200, ANSWER)
        self.wfile.flush()
        time.sleep(0.2)
        calls(url)

    def meddles(self, request: Any) -> None:
        """Call the tools of the run before this one."""
        url = request["tools"]["http"]["url"]
        earlier.append(url)
        if len(earlier) > 1:
            calls(earlier[-2])
        self.say(200, ANSWER)

    def lies(self, _: Any) -> None:
        # All of it JSON: `Infinity`, which Python writes, would be a broken body.
        usage = {"input_tokens": -5, "output_tokens": "many", "cost_usd": -1e300}
        self.say(200, json.dumps({"output": {"hazard_class": "B"}, "usage": usage}).encode())

    def log_message(self, *_: object) -> None:
        pass


failures = cycle([{"error": "overloaded"}, {"success": False}])
earlier: list[str] = []


def calls(url: str) -> None:
    request = urllib.request.Request(f"{url}/record_class", b"{}")
    try:
        urllib.request.urlopen(request, timeout=30).read()
    except urllib.error.HTTPError as error:
        print("refused with", error.code, file=sys.stderr, flush=True)
        Path("refused").touch()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
