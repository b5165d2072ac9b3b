"""Agents that return objects which break the protocols of Python."""

from __future__ import annotations

from campaign.agents.kind import Kind

# Each method is the one that breaks; `object` gives the others.
METHODS = (
    "__str__",
    "__repr__",
    "__eq__",
    "__bool__",
    "__iter__",
    "__len__",
    "__hash__",
    "__getattr__",
    "__getattribute__",
    "__dir__",
    "__contains__",
    "__getitem__",
    "__reduce_ex__",
    "__del__",
    "__await__",
    "__sizeof__",
    "__format__",
    "__lt__",
    "__call__",
    "__deepcopy__",
)


def _breaks(method: str, base: str, made: str) -> str:
    return (
        f"class Odd({base}):\n"
        f"    def {method}(self, *a, **k):\n"
        "        raise RuntimeError('broken')\n"
        f"return {made}"
    )


def _kind(method: str) -> list[Kind]:
    shown = method.strip("_")
    found = [
        Kind(f"returns an object whose {shown} raises", _breaks(method, "object", "Odd()")),
        Kind(
            f"returns a field whose {shown} raises",
            _breaks(method, "str", "{'grade': Odd('unknown')}"),
        ),
    ]
    if method in {"__iter__", "__getitem__", "__len__", "__getattribute__", "__contains__"}:
        found.append(
            Kind(f"returns a mapping whose {shown} raises", _breaks(method, "dict", "Odd(grade=1)"))
        )
    return found


BODIES: dict[str, str] = {
    "a field that equals all": (
        "class All(str):\n    __eq__ = lambda s, o: True\n    __ne__ = lambda s, o: False\n"
        "    __hash__ = lambda s: 0\nreturn {'grade': All('unknown')}"
    ),
    "an object that equals all": (
        "class All:\n    __eq__ = lambda s, o: True\n    __hash__ = lambda s: 0\n"
        "    __str__ = lambda s: 'unknown'\nreturn {'grade': All()}"
    ),
    "a number that equals all": (
        "class All(int):\n    __eq__ = lambda s, o: True\n    __hash__ = lambda s: 0\n"
        "return {'grade': All(5)}"
    ),
    "a text that is another each time": (
        "class Each(str):\n    n = 0\n    def strip(self, *a):\n        Each.n += 1\n"
        "        return ['unknown', 'other', 'x'][Each.n % 3]\n    lower = casefold = strip\n"
        "return {'grade': Each('unknown')}"
    ),
    "a text whose methods raise": (
        "class Odd(str):\n    def strip(self, *a): raise RuntimeError\n"
        "    lower = casefold = split = replace = encode = strip\nreturn Odd('unknown')"
    ),
    "a mapping that has every key": (
        "class Every(dict):\n    __contains__ = lambda s, k: True\n"
        "    __missing__ = lambda s, k: k\n    get = lambda s, k, d=None: k\nreturn Every()"
    ),
    "a mapping whose keys raise": (
        "class Odd(dict):\n    def keys(self): raise RuntimeError\n    items = values = keys\n"
        "return Odd(grade='unknown')"
    ),
    "a mapping that changes while it is read": (
        "class Odd(dict):\n    def items(self):\n        for k in list(self):\n"
        "            self.clear()\n            yield k, 'unknown'\nreturn Odd(grade='unknown')"
    ),
    "a mapping that lies about its length": (
        "class Odd(dict):\n    __len__ = lambda s: -1\nreturn Odd(grade='unknown')"
    ),
    "a key that cannot be hashed twice": (
        "class K(str):\n    n = 0\n    def __hash__(self):\n        K.n += 1\n        return K.n\n"
        "return {K('grade'): 'unknown'}"
    ),
    "an object that says it is a dict": (
        "class Odd:\n    __class__ = property(lambda s: dict)\nreturn Odd()"
    ),
    "an object that says it is a text": (
        "class Odd:\n    __class__ = property(lambda s: str)\nreturn Odd()"
    ),
    "an object whose class raises": (
        "class Odd:\n    __class__ = property(lambda s: 1 / 0)\nreturn Odd()"
    ),
    "an object whose dict raises": (
        "class Odd:\n    __dict__ = property(lambda s: 1 / 0)\nreturn Odd()"
    ),
    "an object of a hostile class": (
        "class M(type):\n    def __getattribute__(c, n): raise RuntimeError(n)\n"
        "class Odd(metaclass=M): pass\nreturn Odd()"
    ),
    "an object that has every attribute": (
        "class Odd:\n    __getattr__ = lambda s, n: s\nreturn Odd()"
    ),
    "an object whose attributes exit": (
        "class Odd:\n    def __getattr__(self, n): raise SystemExit(0)\nreturn Odd()"
    ),
    "an object whose text exits": (
        "class Odd:\n"
        "    def __str__(self): raise SystemExit(0)\n    __repr__ = __str__\nreturn Odd()"
    ),
    "an object whose text is a number": (
        "class Odd:\n    def __str__(self): return 5\n"
        "    __repr__ = __str__\nreturn {'grade': Odd()}"
    ),
    "an object whose model dump raises": (
        "class Odd:\n    def model_dump(self, **k): raise RuntimeError\nreturn Odd()"
    ),
    "an object whose model dump is itself": (
        "class Odd:\n    def model_dump(self, **k): return self\nreturn Odd()"
    ),
    "an object whose output raises": (
        "class Odd:\n    output = property(lambda s: 1 / 0)\nreturn Odd()"
    ),
    "an object whose fields are a number": (
        "class Odd:\n    __dataclass_fields__ = 5\nreturn Odd()"
    ),
    "an object that is never collected": (
        "import gc\nclass Odd:\n    def __del__(self):\n        globals()['again'] = self\n"
        "o = Odd()\no.me = o\ngc.collect()\nreturn o"
    ),
}

KINDS: list[Kind] = [
    *(kind for method in METHODS for kind in _kind(method)),
    *(Kind(f"returns {name}", body) for name, body in BODIES.items()),
]
