"""Saved sessions: written while they run, read, compared, merged, judged again."""
