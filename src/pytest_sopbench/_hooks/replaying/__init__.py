"""Recorded model traffic: around runs, before the first one, and in the summary."""
