"""Tool-less domains: a schema, and rows whose expected answer is a JSON document."""
