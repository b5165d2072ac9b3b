"""Domains, loaded from folders; every mistake in one is named with its place."""
