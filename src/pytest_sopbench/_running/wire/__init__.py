"""Agents that are not Python: services over HTTP, children, and what gives them their tools."""
