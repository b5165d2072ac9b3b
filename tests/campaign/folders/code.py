"""Code of a domain that cannot be imported, made or called: `tools.py` and `policy.py`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from campaign.folders.breakage import Breakage, Drop, Verdict, keys, sound, write

TOOLS, POLICY = "tools.py", "policy.py"


def _manager(body: str, *, init: str = "self, row", setup: str = "self.row = row") -> str:
    return (
        "class LabManager:\n"
        f"    def __init__({init}):\n        {setup}\n\n"
        f"    def process_tool_call(self, name, arguments):\n        {body}\n"
    )


SOUND = _manager('return {"reading": self.row["reading"]}')

HOSTILE = """
class M(type):
    def __getattribute__(kind, name):
        raise RuntimeError(name)

class LabManager(metaclass=M):
    def process_tool_call(self, name, arguments):
        pass
"""

IMPORTS: dict[str, tuple[str, ...]] = {
    "is empty": ("", "Manager"),
    "has a syntax error": ("def f(:\n", "row 1", "SyntaxError"),
    "has a tab among spaces": ("if 1:\n        a = 1\n\tb = 2\n", "row 3"),
    "has marks of a merge": (f"<<<<<<< HEAD\n{SOUND}", "row 1"),
    "has a NUL": ("a = 1\n\0\n",),
    "has an unknown encoding": ("# -*- coding: nowhere -*-\n",),
    "is nested 5,000 times": (f"a = {'(' * 5_000}{')' * 5_000}\n",),
    "raises when it is imported": ("\nraise ValueError('no licence')\n", "row 2", "no licence"),
    "raises without a text": ("raise ValueError\n", "row 1", "ValueError"),
    "raises a base exception": ("raise BaseException('base')\n", "row 1", "base"),
    "raises a group": ("raise ExceptionGroup('many', [ValueError('a')])\n", "row 1", "many"),
    "raises a generator's end": ("raise GeneratorExit\n", "row 1"),
    "raises with a text that raises": (
        "class E(Exception):\n    def __str__(self):\n        raise RuntimeError('str')\nraise E\n",
        "row 4",
    ),
    "exits": ("import sys\nsys.exit(0)\n", "row 2", "SystemExit"),
    "exits by raising": ("raise SystemExit\n", "row 1", "SystemExit"),
    "quits": ("quit()\n", "row 1"),
    "recurses": ("def f():\n    f()\nf()\n", "RecursionError"),
    "imports what is not there": ("import nowhere_at_all\n", "row 1", "nowhere_at_all"),
    "imports itself": ("import tools\nraise ImportError('again')\n",),
    "asserts": ("assert False, 'not here'\n", "row 1", "not here"),
    "ends pytest": ("import pytest\npytest.exit('bye', returncode=0)\n", "bye"),
    "skips": ("import pytest\npytest.skip('bye', allow_module_level=True)\n", "bye"),
    "warns": ("import warnings\nwarnings.simplefilter('error')\nwarnings.warn('w')\n", "row 3"),
    "has no manager": ("class Tools:\n    pass\n", "Manager"),
    "has a function for a manager": ("def LabManager(row):\n    return 1\n", "Manager"),
    "has an instance for a manager": ("LabManager = object()\n", "Manager"),
    "has a manager without calls": ("class LabManager:\n    pass\n", "process_tool_call"),
    "has a manager whose calls are a number": (
        "class LabManager:\n    process_tool_call = 5\n",
        "process_tool_call",
    ),
    "has two managers": (SOUND + SOUND.replace("Lab", "Other"), "OtherManager"),
    "has a manager that asks for more": (_manager("pass", init="self, database"), "database"),
    "has a class with a hostile metaclass": (HOSTILE,),
}
"""The file, and what the error says besides its name."""

MADE: dict[str, tuple[str, str]] = {
    "raises when it is made": ("raise ValueError('no row')", "no row"),
    "exits when it is made": ("raise SystemExit(0)", "SystemExit"),
    "leaves when it is made": ("import os; os._exit(0)", ""),
    "raises a base exception when it is made": ("raise BaseException('base')", "base"),
    "raises nonsense when it is made": ("raise type('E', (Exception,), {'__str__': 1})", "E"),
    "recurses when it is made": ("self.__init__(row)", "RecursionError"),
    "is changed when it is made": ("self.__class__ = type('Other', (), {})", ""),
}
"""What a constructor does, and what the session says of it."""

CALLED: dict[str, str] = {
    "raises": "raise KeyError(name)",
    "raises a base exception": "raise BaseException(name)",
    "raises a group": "raise ExceptionGroup('many', [ValueError(name)])",
    "exits": "raise SystemExit(0)",
    "ends a generator": "raise GeneratorExit",
    "ends an iteration": "raise StopIteration",
    "recurses": "return self.process_tool_call(name, arguments)",
    "returns nothing": "return None",
    "returns an object": "return object()",
    "returns itself": "return self",
    "returns a function": "return lambda: 1",
    "returns a set": "return {1, 2}",
    "returns a nan": "return float('nan')",
    "returns bytes": "return b'\\xff'",
    "returns half a surrogate pair": "return '\\ud800'",
    "returns a circle": "a = []; a.append(a); return a",
    "returns a generator": "return (n for n in range(3))",
    "returns a class": "return dict",
    "returns a coroutine": "async def f(): pass\n        return f()",
    "returns a mapping that raises": (
        "from collections import UserDict\n"
        "        return type('D', (UserDict,), {'__iter__': lambda s: 1 / 0})(a=1)"
    ),
    "returns what cannot be shown": "return type('R', (), {'__repr__': lambda s: 1 / 0})()",
    "returns 20 million letters": "return 'x' * 20_000_000",
    "changes its arguments": "arguments.clear(); return {}",
    "forgets its manager": "del self.row; return {}",
}
"""What a call does; the agent asks for a reading, so each of them makes it fail."""


def _served(content: str) -> Callable[[Path, Random], None]:
    """Code that serves the tools alone, as nothing else does."""

    def apply(folder: Path, random: Random) -> None:
        keys(tools=Drop)(folder, random)
        write(TOOLS, content.encode("utf-8", "surrogateescape"))(folder, random)

    return apply


def _tools(name: str, content: str, *says: str, verdict: Verdict = "refused") -> Breakage:
    return Breakage(
        name=f"tools.py {name}",
        apply=_served(content),
        says=(*((TOOLS,) if verdict == "refused" else ()), *says),
        verdict=verdict,
        listed="usable",
    )


def _policy(name: str, content: str, *says: str, verdict: Verdict = "refused") -> Breakage:
    return Breakage(
        name=f"policy.py {name}",
        apply=write(POLICY, content),
        says=(*((POLICY,) if verdict == "refused" else ()), *says),
        verdict=verdict,
        listed="usable",
        args=("--sop-agent=reference-policy",),
    )


BREAKAGES: list[Breakage] = [
    # Its text is part of what a session is about, so a listing reads it as well.
    Breakage(name="tools.py is not UTF-8", apply=_served("# caf\udcff"), says=(TOOLS, "row 1")),
    *(_tools(name, *texts) for name, texts in IMPORTS.items()),
    *(
        _tools(
            f"has a manager that {name}",
            _manager("pass", setup=setup),
            *filter(None, (says,)),
            verdict="fails",
        )
        for name, (setup, says) in MADE.items()
    ),
    *(
        _tools(f"has calls that {name}", _manager(body).replace("measure", ""), verdict="fails")
        for name, body in CALLED.items()
    ),
    _tools(
        "has a manager that is abstract",
        "import abc\nclass LabManager(abc.ABC):\n    @abc.abstractmethod\n"
        "    def close(self): ...\n    def process_tool_call(self, n, a): pass\n",
        "LabManager",
        verdict="fails",
    ),
    sound("tools.py is right", _served(SOUND)),
    sound("tools.py that prints", _served("print('::error::x')\n" + SOUND)),
    _policy("is empty", "", "decide"),
    _policy("has a syntax error", "def decide(:\n", "SyntaxError"),
    _policy("has a number for a function", "decide = 5\n", "decide"),
    _policy("raises when it is imported", "raise ValueError('no policy')\n", "no policy"),
    _policy("exits when it is imported", "raise SystemExit(0)\n", "SystemExit"),
    _policy("decides nothing", "def decide(inputs, call):\n    return None\n", verdict="fails"),
    _policy("asks for more", "def decide(inputs, call, more):\n    return {}\n", verdict="fails"),
    _policy("raises", "def decide(inputs, call):\n    raise KeyError('x')\n", verdict="fails"),
    _policy(
        "decides an object", "def decide(inputs, call):\n    return object()\n", verdict="fails"
    ),
]
