"""The output fields of a domain: declared or inferred, and how they are compared."""
