"""Pytest items: collected, set up, reported."""
