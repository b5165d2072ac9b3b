"""Whether the session passes, and with which status it ends."""
