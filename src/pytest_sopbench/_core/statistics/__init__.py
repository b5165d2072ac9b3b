"""Intervals and tests, pure and by the standard library alone."""
