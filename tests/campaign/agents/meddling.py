"""Agents that misuse what they are given: inputs, tools, their record."""

from __future__ import annotations

from campaign.agents.kind import Kind, kinds

BODIES: dict[str, str] = {
    "empties its inputs": "inputs.clear()\nreturn WRONG",
    "puts its inputs into themselves": "inputs['me'] = inputs\nreturn WRONG",
    "puts odd things into its inputs": "inputs[object()] = tools\nreturn WRONG",
    "takes an attribute off its tools": "del tools.call",
    "sets an attribute of its tools": "tools.call = lambda *a, **k: {'reading': 90}",
    "sets the class of its tools": "tools.__class__ = dict",
    "looks for the answer in its tools": "return str(vars(tools))",
    "pickles its tools": "import pickle\npickle.dumps(tools)",
    "copies its tools": "import copy\ncopy.deepcopy(tools).call('nothing')",
    "calls an unknown tool": "tools.call('nothing', a=1)",
    "calls a tool by nothing": "tools.call()",
    "calls a tool by a number": "tools.call(5)",
    "calls a tool by an object": "tools.call(object(), a=1)",
    "calls a tool by a text that lies": (
        "class T(str):\n    __eq__ = lambda s, o: True\n    __hash__ = lambda s: hash('measure')\n"
        "tools.call(T('nothing'))\nreturn WRONG"
    ),
    "calls a tool of a million letters": "tools.call('x' * 1_000_000)",
    "calls a tool with a hostile name": "tools.call('\\x1b[2J\\n::error::x\\ud800')",
    "calls without arguments": "tools.call('measure')",
    "calls with positions": "tools.call('measure', 'T_01')",
    "calls with another task": "tools.call('measure', sample_id='T_01x')",
    "calls with an object": "tools.call('measure', sample_id=object())",
    "calls with a circle": "a = []\na.append(a)\ntools.call('measure', sample_id=a)",
    "calls with 100,000 lists": (
        "a = []\nfor _ in range(100_000):\n    a = [a]\ntools.call('measure', sample_id=a)"
    ),
    "calls with a nan": "tools.call('measure', sample_id=float('nan'))",
    "calls with 20 million letters": "tools.call('measure', sample_id='x' * 20_000_000)",
    "calls with half a surrogate pair": "tools.call('measure', sample_id='\\ud800')",
    "calls with 100,000 arguments": "tools.call('measure', **{f'a{n}': n for n in range(100_000)})",
    "calls with an object that raises": (
        "class A:\n    def __getattribute__(self, n): raise SystemExit(0)\n"
        "tools.call('measure', sample_id=A())"
    ),
    "calls with its own tools": "tools.call('measure', sample_id=tools)",
    "executes with a text": "tools.execute_tool('measure', 'T_01')\nreturn WRONG",
    "executes with None": "tools.execute_tool(None, None)\nreturn WRONG",
    "executes with a mapping that raises": (
        "class D(dict):\n    def items(self): raise RuntimeError\n    keys = __iter__ = items\n"
        "tools.execute_tool('measure', D(a=1))\nreturn WRONG"
    ),
    "calls 300 times": (
        "for _ in range(300):\n    tools.execute_tool('measure', inputs)\nreturn WRONG"
    ),
    "calls on after its limit": (
        "while True:\n    try:\n        tools.call('measure', **inputs)\n    except Exception:\n"
        "        pass"
    ),
    "calls from 50 threads": (
        "import threading as t\n"
        "all_ = [t.Thread(target=tools.execute_tool, "
        "args=('measure', inputs)) for _ in range(50)]\n"
        "[one.start() for one in all_]\n[one.join() for one in all_]\nreturn WRONG"
    ),
    "calls after it has returned": (
        "import threading, time\n"
        "def late():\n    time.sleep(0.05)\n    for _ in range(50):\n"
        "        tools.execute_tool('measure', inputs)\n"
        "threading.Thread(target=late, daemon=True).start()\nreturn WRONG"
    ),
    "keeps its tools for others": "KEPT.append(tools)\nreturn WRONG",
    "uses the tools of others": (
        "KEPT.append(tools)\n[one.execute_tool('measure', inputs) for one in KEPT]\nreturn WRONG"
    ),
    "calls in a destructor": (
        "class A:\n    def __del__(self):\n        tools.call('measure', **inputs)\n"
        "a = A()\na.me = a\nreturn WRONG"
    ),
    "calls while a call is made": (
        "class A(str):\n    def __str__(self):\n        tools.call('measure', **inputs)\n"
        "        return 'x'\ntools.execute_tool('measure', {'sample_id': A('x')})\nreturn WRONG"
    ),
    "reports a text": "tools.report(usage='much')",
    "reports an object that raises": (
        "class U:\n    def __getattr__(self, n): raise RuntimeError(n)\n"
        "tools.report(usage=U())\nreturn WRONG"
    ),
    "reports a nan": "tools.report(usage={'cost_usd': float('nan')})\nreturn WRONG",
    "reports usage beyond all": "tools.report(usage={'input_tokens': 10**5_000})\nreturn WRONG",
    "reports usage below zero": "tools.report(usage={'cost_usd': -1e9})\nreturn WRONG",
    "reports a million messages": "tools.report(messages=['x'] * 1_000_000)\nreturn WRONG",
    "reports messages in a circle": "a = []\na.append(a)\ntools.report(messages=a)\nreturn WRONG",
    "reports odd messages": "tools.report(messages=[object(), tools, b'\\xff'])\nreturn WRONG",
    "records an odd approval": "tools.record_approval(object(), by=tools)",
    "records 20,000 approvals": (
        "for n in range(20_000):\n    tools.record_approval(str(n), by='x')\nreturn WRONG"
    ),
    "asks for functions in vain": "[f(5) for f in tools.functions(on_error='never')]",
    "calls functions wrongly": "[f(object(), 5, x=tools) for f in tools.functions()]\nreturn WRONG",
    "prints a million lines": "for n in range(200_000):\n    print('x' * 40)\nreturn WRONG",
    "prints hostile text": "print('\\x1b[2J\\x1b]0;t\\x07::error::x\\n::error::y\\ud800')",
    "prints bytes": (
        "import sys\nsys.stdout.buffer.write(b'\\xff\\xfe\\n::error::x\\n')\nreturn WRONG"
    ),
    "writes to the descriptors": (
        "import os\nos.write(1, b'\\xff\\n::error::x\\n')\nos.write(2, b'x')\nreturn WRONG"
    ),
    "logs what cannot be formatted": "import logging\nlogging.error('%d', 'x')\nreturn WRONG",
    "logs an object that raises": (
        "import logging\nclass A:\n    def __str__(self): raise RuntimeError\n"
        "logging.error('%s', A())\nlogging.error(A())\nreturn WRONG"
    ),
    "warns": "import warnings\nwarnings.warn('\\x1b[2J::error::x', stacklevel=99)\nreturn WRONG",
    "leaves a thread behind": (
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
        "return WRONG"
    ),
    "leaves a thread that raises": (
        "import threading\n"
        "threading.Thread(target=lambda: 1 / 0, daemon=True).start()\nreturn WRONG"
    ),
    "leaves a timer behind": (
        "import threading\nt = threading.Timer(3600, print)\n"
        "t.daemon = True\nt.start()\nreturn WRONG"
    ),
    "leaves 200 threads behind": (
        "import threading, time\nfor _ in range(200):\n"
        "    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\nreturn WRONG"
    ),
    "leaves files open": "KEPT.extend(open('/dev/null') for _ in range(50))\nreturn WRONG",
    "is a generator": "yield 'pass'",
    "starts a session of its own": (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'pytest', "
        "'--version'], check=True, capture_output=True)\n"
        "return WRONG"
    ),
    "changes its contextvars": (
        "import contextvars\n"
        "for var in list(contextvars.copy_context()):\n    var.set(None)\nreturn WRONG"
    ),
    "runs code by exec": "exec('raise ValueError(1)', {})",
    "walks all frames": (
        "import sys\nframe = sys._getframe()\nwhile frame:\n"
        "    frame.f_locals\n    frame = frame.f_back\n"
        "return WRONG"
    ),
    "clears all it can collect": "import gc\ngc.collect()\nlen(gc.get_objects())\nreturn WRONG",
}

KINDS: list[Kind] = kinds(BODIES)
