"""Answers that are JSON documents: read them, hold them against a schema, and compare them."""
