"""Agents that raise what few agents raise."""

from __future__ import annotations

from campaign.agents.kind import Kind, kinds


def _class(members: str, base: str = "Exception", how: str = "raise Odd('odd')") -> str:
    return f"class Odd({base}):\n    {members}\n{how}"


BODIES: dict[str, str] = {
    "an exception": "raise ValueError('no model')",
    "an exception without a text": "raise ValueError",
    "a text of 5 million letters": "raise ValueError('x' * 5_000_000)",
    "workflow commands": "raise ValueError('x\\n::error::PWN\\n##[error]y\\n::add-mask::e')",
    "control characters": "raise ValueError('\\x1b[2J\\x1b]0;t\\x07\\r\\b\\x00\\u202e\\u2028')",
    "half a surrogate pair": "raise ValueError('\\ud800 \\udfff')",
    "bytes": "raise ValueError(b'\\xff', {b'k': {1}})",
    "an assertion": "assert inputs is None, inputs",
    "a tuple as a key": "raise KeyError(('a', 1))",
    "a full disk": "import errno\nraise OSError(errno.ENOSPC, 'No space left on device')",
    "a decoding error": "b'\\xff'.decode()",
    "an encoding error": "'\\ud800'.encode()",
    "StopIteration": "raise StopIteration({'grade': 'pass'})",
    "StopAsyncIteration": "raise StopAsyncIteration",
    "GeneratorExit": "raise GeneratorExit",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "its own KeyboardInterrupt": _class("pass", "KeyboardInterrupt"),
    "SystemExit": "raise SystemExit",
    "SystemExit with 0": "raise SystemExit(0)",
    "SystemExit with an object": "import sys\nsys.exit(object())",
    "SystemExit whose code raises": _class("code = property(lambda self: 1 / 0)", "SystemExit"),
    "quit()": "quit()",
    "BaseException": "raise BaseException('base')",
    "its own BaseException": _class("pass", "BaseException"),
    "a group": "raise ExceptionGroup('many', [ValueError('a'), KeyError('b')])",
    "a group of groups": (
        "e = ValueError('deep')\nfor _ in range(50):\n    e = ExceptionGroup('g', [e])\nraise e"
    ),
    "1,100 groups in one another": (
        "e = ValueError('deep')\nfor _ in range(1_100):\n    e = ExceptionGroup('g', [e])\nraise e"
    ),
    "a group of 5,000": "raise ExceptionGroup('many', [ValueError(str(n)) for n in range(5_000)])",
    "a group with KeyboardInterrupt": "raise BaseExceptionGroup('many', [KeyboardInterrupt()])",
    "a group with SystemExit": "raise BaseExceptionGroup('many', [SystemExit(0)])",
    "CancelledError": "import asyncio\nraise asyncio.CancelledError",
    "a future's CancelledError": "import concurrent.futures as f\nraise f.CancelledError",
    "TimeoutError": "raise TimeoutError('slow')",
    "InterruptedError": "raise InterruptedError",
    "MemoryError": "raise MemoryError",
    "a MemoryError of the system": "return 'x' * (1 << 62)",
    "RecursionError": "raise RecursionError",
    "recursion without end": "def f():\n    return f()\nf()",
    "recursion in a method": "class A:\n    def __str__(self):\n        return str(self)\nstr(A())",
    "recursion in an exception": _class("def __str__(self): return str(self)"),
    "a syntax error": "compile('(', 'x', 'exec')",
    "a syntax error with odd fields": (
        "e = SyntaxError('odd')\ne.lineno, e.offset, e.text = 'x', [], b'y'\nraise e"
    ),
    "an exception that is its own cause": "e = ValueError('e')\ne.__cause__ = e\nraise e",
    "a circle of causes": "a, b = ValueError('a'), KeyError('b')\nb.__cause__ = a\nraise a from b",
    "a chain of 3,000 causes": (
        "e = None\nfor n in range(3_000):\n    new = ValueError(str(n))\n    new.__cause__ = e\n"
        "    e = new\nraise e"
    ),
    "an exception while another is handled": (
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    {}['x']"
    ),
    "an exception whose text raises": _class("def __str__(self): raise RuntimeError('str')"),
    "an exception whose text exits": _class("def __str__(self): raise SystemExit(0)"),
    "an exception whose text is interrupted": _class("def __str__(s): raise KeyboardInterrupt"),
    "an exception whose text is a number": _class("def __str__(self): return 5"),
    "an exception whose repr raises": _class("def __repr__(self): raise RuntimeError('repr')"),
    "an exception that equals all": _class("def __eq__(self, other): return True"),
    "an exception that cannot be compared": _class("def __eq__(self, other): raise RuntimeError"),
    "an exception without a hash": _class("__hash__ = None"),
    "an exception that is neither true nor false": _class("def __bool__(self): raise RuntimeError"),
    "an exception that hides its attributes": _class(
        "def __getattribute__(self, name): raise RuntimeError(name)"
    ),
    "an exception that lies about its class": _class("__class__ = property(lambda self: dict)"),
    "an exception of a hostile class": (
        "class Meta(type):\n"
        "    def __getattribute__(kind, name):\n        raise RuntimeError(name)\n"
        + _class("pass", "Exception, metaclass=Meta")
    ),
    "an exception whose class raises in tests": (
        "class Meta(type):\n    def __instancecheck__(kind, one):\n        raise RuntimeError\n"
        "    def __subclasscheck__(kind, one):\n        raise RuntimeError\n"
        + _class("pass", "Exception, metaclass=Meta")
    ),
    "an exception of a module that is a number": _class("__module__ = 5"),
    "an exception with a hostile name": (
        "raise type('x\\n::error::y\\x1b[2J' + 'z' * 10_000, (Exception,), {})('odd')"
    ),
    "an exception that cannot be pickled": _class(
        "def __init__(self, a, b): self.f = lambda: 1", how="raise Odd(1, 2)"
    ),
    "an exception whose pickling exits": _class("def __reduce__(self): raise SystemExit(0)"),
    "notes that are numbers": "e = ValueError('n')\ne.__notes__ = [5, None, object()]\nraise e",
    "notes that are a text": "e = ValueError('n')\ne.__notes__ = 'text'\nraise e",
    "notes that raise": _class("__notes__ = property(lambda self: 1 / 0)"),
    "no class of exceptions": "raise 5",
    "pytest.exit": "import pytest\npytest.exit('bye', returncode=0)",
    "pytest.fail": "import pytest\npytest.fail('failed')",
    "pytest.skip": "import pytest\npytest.skip('skipped')",
    "pytest.xfail": "import pytest\npytest.xfail('expected')",
    "pytest.UsageError": "import pytest\nraise pytest.UsageError('usage')",
    "SkipTest": "import unittest\nraise unittest.SkipTest('skipped')",
    "a debugger's end": "import bdb\nraise bdb.BdbQuit",
    "a warning": "raise UserWarning('odd')",
    "Unavailable": "from pytest_sopbench import Unavailable\nraise Unavailable('429')",
    "our ToolError": "from pytest_sopbench import ToolError\nraise ToolError('mine')",
    "our RunOverError": "from pytest_sopbench.errors import RunOverError\nraise RunOverError",
    "our LoadingError": (
        "from pytest_sopbench.errors import LoadingError\nraise LoadingError('x', 'y')"
    ),
    "an exception of a generator": "def f():\n    yield\n    raise ValueError('late')\nlist(f())",
    "an exception when it is forgotten": (
        "class A:\n    def __del__(self):\n        raise ValueError('late')\nA()\nreturn WRONG"
    ),
    "a tool's error": "tools.call('nothing')",
}

KINDS: list[Kind] = [Kind(f"raises {kind.name}", kind.body) for kind in kinds(BODIES)]
