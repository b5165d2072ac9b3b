"""A table of cases and a document become a domain."""
