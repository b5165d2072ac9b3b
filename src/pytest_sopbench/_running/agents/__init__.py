"""Agents: found by name, and called whatever their shape."""
