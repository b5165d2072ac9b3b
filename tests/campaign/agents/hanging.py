"""Agents that do not come back by themselves."""

from __future__ import annotations

from campaign.agents.kind import Harm, Kind, kinds

BODIES: dict[str, str] = {
    "sleeps": "import time\ntime.sleep(3600)",
    "spins": "while True:\n    pass",
    "waits for an event": "import threading\nthreading.Event().wait()",
    "locks itself out": "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()",
    "waits for a queue": "import queue\nqueue.Queue().get()",
    "reads a pipe": "import os\nr, w = os.pipe()\nos.read(r, 1)",
    "waits for a connection": (
        "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\ns.accept()"
    ),
    "waits for a child": "import subprocess\nsubprocess.run(['sleep', '3600'])",
    "waits for its thread": (
        "import threading, time\n"
        "t = threading.Thread(target=time.sleep, args=(3600,), daemon=True)\n"
        "t.start()\nt.join()"
    ),
    "swallows its end": (
        "import time\nwhile True:\n    try:\n        time.sleep(0.01)\n"
        "        tools.call('measure', **inputs)\n    except BaseException:\n        pass"
    ),
    "awaits for an hour": (
        "import asyncio\nasync def f():\n    await asyncio.sleep(3600)\nreturn f()"
    ),
    "awaits without end": (
        "import asyncio\nasync def f():\n    while True:\n"
        "        await asyncio.sleep(0)\nreturn f()"
    ),
    "awaits what never comes": (
        "import asyncio\nasync def f():\n    await asyncio.Future()\nreturn f()"
    ),
    "swallows its cancellation": (
        "import asyncio\nasync def f():\n    while True:\n        try:\n"
        "            await asyncio.sleep(3600)\n        except BaseException:\n            pass\n"
        "return f()"
    ),
    "blocks the loop": "import time\nasync def f():\n    time.sleep(3600)\nreturn f()",
    "spins in the loop": "async def f():\n    while True:\n        pass\nreturn f()",
    "returns a mapping without end": (
        "import itertools\nclass Odd(dict):\n    def items(self):\n"
        "        return ((str(n), n) for n in itertools.count())\n    def __iter__(self):\n"
        "        return map(str, itertools.count())\n    keys = __iter__\nreturn Odd(a=1)"
    ),
    "returns a text that hangs": (
        "import time\nclass Odd:\n    def __str__(self):\n        time.sleep(3600)\n"
        "    __repr__ = __str__\nreturn {'grade': Odd()}"
    ),
    "raises an exception that hangs": (
        "import time\nclass Odd(Exception):\n    def __str__(self):\n        time.sleep(3600)\n"
        "raise Odd"
    ),
}

KINDS: list[Kind] = kinds(BODIES, Harm.HANGS)
