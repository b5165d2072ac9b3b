"""The folder of sessions: names, the pointer to the last, locks, pruning."""
