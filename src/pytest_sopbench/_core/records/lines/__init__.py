"""The lines of finished runs, rules and traces: one reader and one writer of each."""
