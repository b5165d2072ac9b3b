"""Several workers: who makes which run, and who died."""
