"""The document of a procedure becomes text."""
