"""Recorded model traffic: what an agent's model client sends and gets, kept and served again."""
