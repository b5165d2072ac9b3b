"""The reference policy as one child for many runs, eight at a time, in JSON lines."""

from __future__ import annotations

import itertools
import json
import queue
import sys
import threading
from typing import Any

from policy_tools import answer, value_of

writing = threading.Lock()
numbers = itertools.count()
waiting: dict[int, queue.Queue[dict[str, Any]]] = {}


def say(**message: Any) -> None:
    with writing:
        print(json.dumps(message), flush=True)


def run(request: dict[str, Any]) -> None:
    name = request["run"]["id"]

    def call(tool: str, /, **arguments: Any) -> Any:
        number = next(numbers)
        came = waiting[number] = queue.Queue()
        say(type="call", run=name, call=number, tool=tool, arguments=arguments)
        return value_of(came.get())

    say(type="answer", run=name, **answer(request, call))


say(type="ready", protocol=1, concurrency=8)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "run":
        threading.Thread(target=run, args=[message], daemon=True).start()
    elif message["type"] == "result":
        waiting.pop(message["call"]).put(message)
