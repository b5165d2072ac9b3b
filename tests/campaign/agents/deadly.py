"""Agents that end their process."""

from __future__ import annotations

from campaign.agents.kind import Harm, Kind, kinds


def _signal(name: str) -> str:
    return f"import os, signal, time\nos.kill(os.getpid(), signal.{name})\ntime.sleep(60)"


BODIES: dict[str, str] = {
    "ends with os._exit(0)": "import os\nos._exit(0)",
    "ends with os._exit(256)": "import os\nos._exit(256)",
    "ends with os._exit(7)": "import os\nos._exit(7)",
    "ends with posix._exit(0)": "import posix\nposix._exit(0)",
    "ends with an exit it kept": "EXIT(0)",
    "aborts": "import os\nos.abort()",
    "is killed": _signal("SIGKILL"),
    "is terminated": _signal("SIGTERM"),
    "is hung up": _signal("SIGHUP"),
    "reads where nothing is": "import ctypes\nctypes.string_at(0)",
    "divides by zero in native code": _signal("SIGFPE"),
    "overflows the stack": (
        "import sys\nsys.setrecursionlimit(10**8)\nclass A:\n    def __repr__(self):\n"
        "        return repr(self)\nx = []\n"
        "for _ in range(10**6):\n    x = [x]\nreturn repr(x) + repr(A())"
    ),
    "is ended by an alarm": ("import ctypes, time\nctypes.CDLL(None).alarm(1)\ntime.sleep(60)"),
    "uses up its time": (
        "import resource as r\nr.setrlimit(r.RLIMIT_CPU, (0, 1))\nwhile True:\n    pass"
    ),
    "aborts in another thread": (
        "import os, threading\nt = threading.Thread(target=os.abort)\nt.start()\nt.join(60)"
    ),
    "overwrites memory": ("import ctypes\nctypes.memset(id(None), 255, 64)\nreturn WRONG"),
}

KINDS: list[Kind] = kinds(BODIES, Harm.KILLS)
