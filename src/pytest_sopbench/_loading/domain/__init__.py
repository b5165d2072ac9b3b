"""A folder becomes a domain."""
