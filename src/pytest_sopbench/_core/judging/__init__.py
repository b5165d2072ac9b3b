"""Decide on a run: the answer, the outcome, the procedure."""
