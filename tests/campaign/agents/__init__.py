"""Agents that misbehave, in every way that their tasks, process and user would notice."""
