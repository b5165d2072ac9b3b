"""The base of what we register with pytest: its hooks are all that there is to find."""

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
