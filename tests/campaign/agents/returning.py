"""Agents that return what is no answer, or looks like one."""

from __future__ import annotations

from campaign.agents.kind import Kind, kinds

VALUES: dict[str, str] = {
    "nothing": "None",
    "Ellipsis": "...",
    "NotImplemented": "NotImplemented",
    "0": "0",
    "true": "True",
    "a nan": "float('nan')",
    "infinity": "float('-inf')",
    "a number of 5,000 digits": "10 ** 5_000",
    "a complex number": "1j",
    "an object": "object()",
    "a class": "dict",
    "a function": "lambda: {'grade': 'pass'}",
    "a module": "__import__('os')",
    "an exception": "ValueError('returned')",
    "a class of exceptions": "SystemExit",
    "a generator": "(n for n in ['pass'])",
    "a set": "{'unknown'}",
    "a range": "range(10**12)",
    "bytes": "b'unknown'",
    "bytes that are no text": "b'\\xff\\xfe\\x00'",
    "a bytearray": "bytearray(b'unknown')",
    "a memoryview": "memoryview(b'unknown')",
    "an empty text": "''",
    "a blank text": "' \\n\\t\\u2028'",
    "20 million letters": "'x' * 20_000_000",
    "a million brackets": "'[' * 1_000_000",
    "a million braces": "'{\"grade\":' * 200_000",
    "a million tags": "'<grade>' * 200_000",
    "half a surrogate pair": "'\\ud800'",
    "control characters": "'\\x1b[2J\\x00\\r\\b\\u202e'",
    "workflow commands": "'\\n::error::PWN\\n##[error]x\\n'",
    "all answers": "'pass retest fail'",
    "all answers in tags": (
        "''.join(f'<grade>{g}</grade>' for g in ('pass', 'fail', 'retest', 'x'))"
    ),
    "all answers in a list": "{'grade': ['pass', 'retest', 'fail']}",
    "all answers in one text": "{'grade': 'pass|retest|fail'}",
    "a pattern for an answer": "{'grade': '.*'}",
    "a question": "{'grade': 'unknown?'}",
    "a field too many": "{'Grade': 'unknown', 'grade ': 'x'}",
    "another field": "{'mark': 'pass'}",
    "an answer in an answer": "{'grade': {'grade': 'unknown'}}",
    "null": "{'grade': None}",
    "true for a label": "{'grade': True}",
    "keys that are numbers": "{1: 'pass', None: 'fail', ('a',): 'x'}",
    "bytes as keys": "{b'grade': b'unknown'}",
    "a million keys": "dict.fromkeys(map(str, range(1_000_000)), 'pass')",
    "a list": "['unknown', 5, None]",
    "an empty list": "[]",
    "an empty mapping": "{}",
    "a list of a million": "[{}] * 1_000_000",
    "messages that are numbers": "{'messages': [1, 2]}",
    "messages without content": "[{'role': 'assistant'}]",
    "messages of objects": "[{'role': object(), 'content': object()}]",
    "an output of an output": "{'output': {'output': {'output': None}}}",
    "a success that is an object": "{'success': object(), 'output': 'unknown'}",
    "an error that is an object": "{'error': object(), 'grade': 'unknown'}",
    "usage that is a text": "{'grade': 'unknown', 'usage': 'much'}",
    "usage below zero": (
        "{'grade': 'unknown', 'usage': {'input_tokens': -1, 'cost_usd': float('nan')}}"
    ),
    "usage beyond all": "{'grade': 'unknown', 'usage': {'input_tokens': 10**400, 'cost': 1e308}}",
    "usage in a circle": (
        "{'grade': 'unknown', 'usage': type('U', (), {'usage': property(lambda s: s)})()}"
    ),
    "an open file": "open('/dev/null')",
    "a thread": "__import__('threading').Thread()",
    "a lock": "__import__('threading').Lock()",
    "a socket": "__import__('socket').socket()",
    "its tools": "tools",
    "its inputs": "inputs",
    "a date": "__import__('datetime').datetime.now()",
    "a Decimal": "__import__('decimal').Decimal('sNaN')",
    "a Fraction": "__import__('fractions').Fraction(1, 3)",
    "a path": "__import__('pathlib').Path('.')",
    "a Mock": "__import__('unittest.mock').mock.Mock()",
    "a MagicMock": "__import__('unittest.mock').mock.MagicMock()",
    "a mock for a field": "{'grade': __import__('unittest.mock').mock.MagicMock()}",
    "a deque": "__import__('collections').deque(['unknown'])",
    "a ChainMap": "__import__('collections').ChainMap({'grade': 'unknown'})",
    "a Counter": "__import__('collections').Counter('grade')",
    "a partial": "__import__('functools').partial(dict)",
    "a namespace": "__import__('types').SimpleNamespace(grade='unknown')",
    "a frame": "__import__('sys')._getframe()",
    "a proxy of nothing": "__import__('weakref').proxy(type('A', (), {})())",
    "a code object": "compile('1', 'x', 'eval')",
    "a match": "__import__('re').match('.', 'x')",
}

BODIES: dict[str, str] = {
    "a list in itself": "a = []\na.append(a)\nreturn a",
    "a mapping in itself": "a = {'grade': 'unknown'}\na['more'] = a\nreturn a",
    "a field in itself": "a = {}\na['grade'] = a\nreturn a",
    "100,000 lists in one another": "a = 'x'\nfor _ in range(100_000):\n    a = [a]\nreturn a",
    "100,000 mappings in one another": (
        "a = 'unknown'\nfor _ in range(100_000):\n    a = {'grade': a}\nreturn a"
    ),
    "100,000 outputs in one another": (
        "a = 'unknown'\nfor _ in range(100_000):\n    a = {'output': a}\nreturn a"
    ),
    "an object that is its own output": (
        "class A:\n    @property\n    def output(self):\n        return self\nreturn A()"
    ),
    "a dataclass without its fields": (
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n    grade: str\nreturn A.__new__(A)"
    ),
    "a model that is not built": (
        "import pydantic\nclass A(pydantic.BaseModel):\n    grade: str\n    more: object = None\n"
        "return A.model_construct()"
    ),
    "a model that cannot be dumped": (
        "import pydantic\nclass A(pydantic.BaseModel):\n    grade: str\n"
        "    @pydantic.model_serializer\n    def dump(self): raise RuntimeError('dump')\n"
        "return A(grade='unknown')"
    ),
    "a named tuple of odd things": (
        "import collections\nreturn collections.namedtuple('A', 'grade more')(object(), tools)"
    ),
    "an enum": "import enum\nreturn {'grade': enum.Enum('E', 'unknown').unknown}",
}

KINDS: list[Kind] = [
    *(Kind(f"returns {name}", f"return {value}") for name, value in VALUES.items()),
    *(Kind(f"returns {kind.name}", kind.body) for kind in kinds(BODIES)),
]
