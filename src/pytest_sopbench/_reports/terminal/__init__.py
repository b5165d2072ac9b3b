"""The summary at the end of a session."""
