"""Agents that change what lasts beyond their run: modules, streams, limits, files."""

from __future__ import annotations

from campaign.agents.kind import Harm, Kind, kinds


def _set(module: str, name: str, value: str = "broken") -> str:
    return f"import {module}\n{module}.{name} = {value}\nreturn WRONG"


SABOTAGE: dict[str, str] = {
    "replaces builtins.__import__": _set("builtins", "__import__"),
    "replaces json.dumps": _set("json", "dumps"),
    "replaces os.getpid": _set("os", "getpid"),
    "replaces threading.Lock": _set("threading", "Lock"),
    "replaces time.perf_counter": _set("time", "perf_counter"),
    "replaces the environment": "import os\nos.environ = None\nreturn WRONG",
    "lowers the limit of recursion": "import sys\nsys.setrecursionlimit(80)\nreturn WRONG",
    "sets a trace that raises": (
        "import threading, sys\nf = lambda *a: 1 / 0\n"
        "threading.settrace(f)\nsys.settrace(f)\nreturn WRONG"
    ),
    "empties the path": "import sys\nsys.path.clear()\nsys.meta_path.clear()\nreturn WRONG",
    "forgets our modules": (
        "import sys\n"
        "[sys.modules.pop(n) for n in list(sys.modules) if n.startswith('pytest_sopbench')]\n"
        "return WRONG"
    ),
}
"""What no mistake does, and nothing is promised of but that it makes no session pass."""

BREAKING: dict[str, str] = {
    "patches the class of its tools": "type(tools).call = lambda *a, **k: 5\nreturn WRONG",
    "freezes the clock": _set("time", "time", "lambda: 0.0"),
    "takes standard output away": "import sys\nsys.stdout = None\nreturn WRONG",
    "closes standard output": "import sys\nsys.stdout.close()\nreturn WRONG",
    "takes standard error away": "import sys\nsys.stderr = None\nreturn WRONG",
    "closes standard error": "import sys\nsys.stderr.close()\nreturn WRONG",
    "closes descriptor 1": "import os\nos.close(1)\nreturn WRONG",
    "closes descriptor 2": "import os\nos.close(2)\nreturn WRONG",
    "takes all rights off new files": "import os\nos.umask(0o777)\nreturn WRONG",
    "forbids to open files": (
        "import resource as r\nr.setrlimit(r.RLIMIT_NOFILE, (3, r.getrlimit(r.RLIMIT_NOFILE)[1]))\n"
        "return WRONG"
    ),
    "opens all files it may": (
        "import os, resource as r\n"
        "r.setrlimit(r.RLIMIT_NOFILE, (200, r.getrlimit(r.RLIMIT_NOFILE)[1]))\n"
        "while True:\n    KEPT.append(os.open('/dev/null', 0))"
    ),
    "forbids to write files": (
        "import resource as r, signal\nr.setrlimit(r.RLIMIT_FSIZE, (0, 0))\nreturn WRONG"
    ),
    "forbids to start threads": (
        "import _thread, threading\n"
        'def broken(*a, **k): raise RuntimeError("can\'t start new thread")\n'
        "_thread.start_new_thread = threading._start_new_thread = broken\nreturn WRONG"
    ),
    "uses all memory it may": (
        "import resource as r\nused = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "r.setrlimit(r.RLIMIT_AS, (used + (64 << 20), r.getrlimit(r.RLIMIT_AS)[1]))\n"
        "while True:\n    KEPT.append(bytearray(1 << 20))"
    ),
    "makes a folder of the saved session": (
        "import glob, os\n"
        "for p in glob.glob('.sop/sessions/*.jsonl'):\n    os.remove(p)\n    os.mkdir(p)\n"
        "return WRONG"
    ),
    "closes the shared loop": (
        "import asyncio\nasync def f():\n    loop = asyncio.get_running_loop()\n"
        "    loop.stop()\n    loop.call_soon(loop.close)\n    return WRONG\nreturn f()"
    ),
    "hides that tests failed": (
        "import sys\nframe = sys._getframe()\nwhile frame:\n"
        "    session = frame.f_locals.get('session')\n"
        "    if session is not None and hasattr(session, "
        "'testsfailed'):\n        session.testsfailed = -9\n"
        "    frame = frame.f_back\nreturn WRONG"
    ),
    "closes descriptors above 2": "import os\nos.closerange(3, 256)\nreturn WRONG",
    "keeps the import lock": ("import _imp\n_imp.acquire_lock()\nreturn WRONG"),
}
"""What breaks more than one run for good."""

ANYWHERE: dict[str, str] = {
    "raises in all threads": (
        "import ctypes, threading\nfor t in threading.enumerate():\n"
        "    ident, kind = ctypes.c_ulong(t.ident), ctypes.py_object(ValueError)\n"
        "    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, kind)\n"
        "return WRONG"
    ),
}
"""What raises in code of others, whatever that is just doing."""

LASTING: dict[str, str] = {
    "closes descriptor 0": "import os\nos.close(0)\nreturn WRONG",
    "turns warnings into errors": "import warnings\nwarnings.simplefilter('error')\nreturn WRONG",
    "switches logging off": (
        "import logging\nlogging.disable()\nlogging.getLogger().handlers.clear()\nreturn WRONG"
    ),
    "makes threads wait long": "import sys\nsys.setswitchinterval(0.5)\nreturn WRONG",
    "switches the collector off": "import gc\ngc.disable()\ngc.freeze()\nreturn WRONG",
    "goes to another folder": "import os\nos.chdir('/')\nreturn WRONG",
    "goes to a folder that is gone": (
        "import os, tempfile\np = tempfile.mkdtemp()\nos.chdir(p)\nos.rmdir(p)\nreturn WRONG"
    ),
    "empties the environment": "import os\nos.environ.clear()\nreturn WRONG",
    "forgets its own module": "import sys\nsys.modules.pop(__name__)\nreturn WRONG",
    "replaces our exceptions": (
        "import pytest_sopbench, pytest_sopbench.errors as e\n"
        "pytest_sopbench.ToolError = e.ToolError = e.Unavailable = int\nreturn WRONG"
    ),
    "replaces the agent": "globals()['agent'] = lambda inputs: {'grade': 'unknown'}\nreturn WRONG",
    "removes the saved session": (
        "import shutil\nshutil.rmtree('.sop', ignore_errors=True)\nreturn WRONG"
    ),
    "writes into the saved session": (
        "import glob\nfor p in glob.glob('.sop/sessions/*.jsonl'):\n"
        "    with open(p, 'a') as f:\n        f.write('{\"type\": \"run\"')\nreturn WRONG"
    ),
    "empties the saved session": (
        "import glob\n"
        "for p in glob.glob('.sop/sessions/*.jsonl'):\n    open(p, 'w').close()\nreturn WRONG"
    ),
    "removes the domain": "import shutil\nshutil.rmtree('domains')\nreturn WRONG",
    "empties the rows": "open('domains/lab/data.csv', 'w').close()\nreturn WRONG",
    "leaves a thread that keeps the process": (
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(3600,)).start()\nreturn WRONG"
    ),
    "exits in another thread": (
        "import os, threading\n"
        "t = threading.Thread(target=os._exit, args=(0,))\nt.start()\nt.join()\n"
        "return WRONG"
    ),
    "registers an exit that raises": (
        "import atexit\natexit.register(lambda: 1 / 0)\nreturn WRONG"
    ),
    "registers an exit with 0": ("import atexit, os\natexit.register(os._exit, 0)\nreturn WRONG"),
    "forks and comes back": "import os\nos.fork()\nreturn WRONG",
    "forks and exits with 0": "import os\nif os.fork() == 0:\n    os._exit(0)\nreturn WRONG",
    "forks a child that hangs": (
        "import os, time\nif os.fork() == 0:\n    time.sleep(3600)\nreturn WRONG"
    ),
    "leaves a process behind": (
        "import subprocess\nKEPT.append(subprocess.Popen(['sleep', '3600']))\nreturn WRONG"
    ),
    "is another program": "import os\nos.execv('/bin/true', ['true'])",
    "ignores signals": (
        "import signal\ntry:\n"
        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\nexcept ValueError:\n"
        "    pass\nreturn WRONG"
    ),
    "sets an alarm that is handled": (
        "import signal\ntry:\n"
        "    signal.signal(signal.SIGALRM, lambda *a: None)\nexcept ValueError:\n"
        "    return WRONG\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nreturn WRONG"
    ),
    "interrupts its process": (
        "import os, signal, time\n"
        "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(0.2)\nreturn WRONG"
    ),
    # In the main thread it cannot be told from the user's own Ctrl-C.
    "returns an object whose attributes are interrupted": (
        "class Odd:\n    def __getattr__(self, n): raise KeyboardInterrupt\nreturn Odd()"
    ),
    "interrupts the main thread": "import _thread\n_thread.interrupt_main()\nreturn WRONG",
    "keeps the interpreter to itself": "import ctypes\nctypes.PyDLL(None).sleep(3)\nreturn WRONG",
    "stops the shared loop": (
        "import asyncio\nasync def f():\n    asyncio.get_running_loop().stop()\n"
        "    await asyncio.sleep(0)\n    return WRONG\nreturn f()"
    ),
    "cancels all tasks": (
        "import asyncio\nasync def f():\n"
        "    [t.cancel() for t in asyncio.all_tasks()]\n    return WRONG\n"
        "return f()"
    ),
    "sets the precision of decimals": (
        "import decimal\ndecimal.DefaultContext.prec = 1\n"
        "decimal.setcontext(decimal.Context(prec=1))\n"
        "return WRONG"
    ),
    "sets the limit of digits": "import sys\nsys.set_int_max_str_digits(640)\nreturn WRONG",
}

KINDS: list[Kind] = [
    *kinds(SABOTAGE, Harm.SABOTAGES),
    *kinds(BREAKING, Harm.BREAKS),
    *kinds(ANYWHERE, Harm.ANYWHERE),
    *kinds(LASTING, Harm.LASTS),
]
