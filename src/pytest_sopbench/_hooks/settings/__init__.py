"""Options, ini values and marks, read once."""
