"""Conditions on metrics and comparisons, and tasks with conditions of their own."""
