"""Runs, from the test that asks for one to the process that makes it."""
