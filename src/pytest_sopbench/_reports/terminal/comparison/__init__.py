"""A session beside others: a baseline, several sessions, several agents."""
