"""Mutations of this package, each of which would make it lie, and the tests that find them."""
