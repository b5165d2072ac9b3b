"""Agents that misuse asyncio."""

from __future__ import annotations

from campaign.agents.kind import Kind, kinds


def _later(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"import asyncio\nasync def later():\n{lines}\nreturn later()"


BODIES: dict[str, str] = {
    "awaits and raises": _later("await asyncio.sleep(0)\nraise ValueError('late')"),
    "awaits and exits": _later("await asyncio.sleep(0)\nraise SystemExit(0)"),
    "awaits and is interrupted": _later("await asyncio.sleep(0)\nraise KeyboardInterrupt"),
    "awaits and ends a generator": _later("raise GeneratorExit"),
    "awaits and stops an iteration": _later("raise StopIteration"),
    "awaits and is cancelled": _later("raise asyncio.CancelledError"),
    "awaits a group": _later("raise BaseExceptionGroup('g', [KeyboardInterrupt(), ValueError()])"),
    "cancels itself": _later("asyncio.current_task().cancel()\nawait asyncio.sleep(1)"),
    "uncancels itself": _later(
        "t = asyncio.current_task()\nt.cancel()\nt.uncancel()\ntry:\n    await asyncio.sleep(0)\n"
        "except BaseException:\n    pass\nreturn WRONG"
    ),
    "returns a coroutine of a coroutine": _later("return later()"),
    "returns a task": _later("return asyncio.ensure_future(asyncio.sleep(0))"),
    "returns a coroutine that was awaited": _later("c = asyncio.sleep(0)\nawait c\nreturn c"),
    "forgets to await": _later("asyncio.sleep(0)\nreturn WRONG"),
    "forgets to await a tool": _later("tools.acall('measure', **inputs)\nreturn WRONG"),
    "leaves a task behind": _later("asyncio.create_task(asyncio.sleep(3600))\nreturn WRONG"),
    "leaves a task that raises": _later(
        "async def f(): raise ValueError('late')\nasyncio.create_task(f())\nreturn WRONG"
    ),
    "leaves a task that exits": _later(
        "async def f(): return 1 / 0\n"
        "asyncio.create_task(f())\nawait asyncio.sleep(0)\nreturn WRONG"
    ),
    "runs a loop in the loop": _later("asyncio.run(asyncio.sleep(0))"),
    "runs a loop of its own": "import asyncio\nasyncio.run(asyncio.sleep(0))\nreturn WRONG",
    "closes a loop of its own": (
        "import asyncio\nloop = asyncio.new_event_loop()\n"
        "asyncio.set_event_loop(loop)\nloop.close()\n"
        "return WRONG"
    ),
    "yields nonsense to the loop": (
        "class A:\n    def __await__(self):\n        yield 5\n"
        "async def f():\n    await A()\nreturn f()"
    ),
    "awaits itself": (
        "import asyncio\nasync def f():\n    await asyncio.current_task()\nreturn f()"
    ),
    "is awaitable and raises": (
        "class A:\n    def __await__(self):\n        raise RuntimeError\nreturn A()"
    ),
    "is awaitable by a number": "class A:\n    __await__ = 5\nreturn A()",
    "is awaitable without end of kinds": (
        "class A:\n    def __await__(self):\n        return self\nreturn A()"
    ),
    "returns an async generator": "async def f():\n    yield 'pass'\nreturn f()",
    "gathers 500 calls": _later(
        "await asyncio.gather(*(tools.acall('measure', **inputs) for _ in range(500)))"
    ),
    "times out by itself": _later("async with asyncio.timeout(0.01):\n    await asyncio.sleep(60)"),
    "fails in a group of tasks": _later(
        "async def f(): raise ValueError\nasync with asyncio.TaskGroup() as g:\n"
        "    [g.create_task(f()) for _ in range(20)]"
    ),
    "stops the loop by an executor": _later(
        "await asyncio.get_running_loop().run_in_executor(None, exit)"
    ),
    "shuts the executor down": _later(
        "await asyncio.get_running_loop().shutdown_default_executor()\nreturn WRONG"
    ),
    "sets a handler of the loop": _later(
        "asyncio.get_running_loop().set_exception_handler(lambda *a: 1 / 0)\nreturn WRONG"
    ),
    "calls back and raises": _later(
        "asyncio.get_running_loop().call_soon(lambda: 1 / 0)\nawait asyncio.sleep(0)\nreturn WRONG"
    ),
}

KINDS: list[Kind] = kinds(BODIES)
