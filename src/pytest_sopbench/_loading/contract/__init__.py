"""The contract of a domain, read from its metadata."""
