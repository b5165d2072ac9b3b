"""What we register with pytest, and what we say of hooks of others."""

from __future__ import annotations


class HookObject:
    """Has hooks, and neither fixtures nor anything else for pytest.

    pluggy asks each attribute of a plugin whether it is a hook, and pytest asks it again whether it
    is a fixture, thirty plugins of a SOP session one by one.
    """

    __slots__ = ()

    def __dir__(self) -> list[str]:
        """Name the hooks alone."""
        return [name for name in super().__dir__() if name.startswith("pytest_")]


def exited(ended: SystemExit, hook: str) -> RuntimeError:
    """Return the error that takes the place of an exit, which with 0 would pass for a success."""
    return RuntimeError(
        f"{hook} called sys.exit({ended.code!r}); a hook says what is wrong by an error"
    )
