"""The real client of OpenAI in many runs at a time, beside as many plain threads.

    python benchmarks/openai_client.py [--small]

A stub of the service on the loopback answers each request after some time. The client works in
Python for each request, which runs in one process must share; so the reference is not only the
ideal, but the same calls with the same client from a plain pool of threads. Both are measured from
the first start to the last end.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from threading import Thread

from projects import parcels
from sessions import SOPBENCH, run, took
from tables import Table, is_small

TASKS, SMALL_TASKS = 200, 64
IN_FLIGHT = 64
CALLS = 3
LATENCY_S = 0.3
LIMIT = 1.1

AGENTS = f"""
import os
import time

import openai

LOG = os.open("times.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
CLIENT = openai.OpenAI(base_url="http://127.0.0.1:@PORT@/v1", api_key="none", max_retries=0)


def note(what, task):
    os.write(LOG, f"{{what}} {{task}} {{time.monotonic()}}\\n".encode())


def agent(inputs):
    task = inputs["parcel_id"]
    note("start", task)
    for _ in range({CALLS}):
        message = {{"role": "user", "content": task}}
        reply = CLIENT.chat.completions.create(model="stub", messages=[message])
    note("end", task)
    return {{"shelf": reply.choices[0].message.content}}
"""
PLAIN = f"""
import sys
from concurrent.futures import ThreadPoolExecutor

from agents import agent

with ThreadPoolExecutor({IN_FLIGHT}) as pool:
    list(pool.map(agent, [{{"parcel_id": f"PX{{n}}"}} for n in range(int(sys.argv[1]))]))
"""
REPLY = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": "stub",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "A"},
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


class Stub(BaseHTTPRequestHandler):
    """Answers every request alike, some time after it came; connections are kept."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Head and body in one packet.
    wbufsize = -1

    def do_POST(self) -> None:
        """Read the request, wait, and answer."""
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(LATENCY_S)
        body = json.dumps(REPLY).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing of it."""


class Server(ThreadingHTTPServer):
    """Takes all connections at once."""

    request_queue_size = 512
    daemon_threads = True


@contextmanager
def served() -> Iterator[int]:
    """Serve the stub from this process, which only waits meanwhile; give its port."""
    with Server(("127.0.0.1", 0), Stub) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def main() -> int:
    """Print the times; the status is 1 where ours is too long."""
    tasks = SMALL_TASKS if is_small(__doc__) else TASKS
    if find_spec("openai") is None:
        print("it needs openai: pip install openai", file=sys.stderr)
        return 1
    best = math.ceil(tasks / IN_FLIGHT) * CALLS * LATENCY_S
    table = Table(f"{tasks} x {CALLS} calls at {IN_FLIGHT}", "first to last", "reference")
    with served() as port:
        project = parcels([0.0] * tasks, AGENTS.replace("@PORT@", str(port)), plain=PLAIN)
        with project.written() as folder:
            subprocess.run([sys.executable, "plain.py", str(tasks)], cwd=folder, check=True)
            plain = took(folder)
            (folder / "times.log").unlink()
            run(
                folder,
                *SOPBENCH,
                "--sop-domain=parcels",
                "--sop-agent=agents:agent",
                f"--sop-concurrency={IN_FLIGHT}",
            )
            ours = took(folder)
    table.row("the ideal", "", f"{best:.2f} s", value=ours / best)
    table.row("plain threads", "", f"{plain:.2f} s", value=plain / best)
    ratio = ours / plain
    name = "a session, beside plain threads"
    table.row(name, f"{ours:.2f} s", f"{plain:.2f} s", value=ratio, most=LIMIT)
    return table.status


if __name__ == "__main__":
    sys.exit(main())
