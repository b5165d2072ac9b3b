"""Comparisons that are declared without code, beside that of equal values."""
