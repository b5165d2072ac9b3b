"""A trajectory held against expected calls and against approved snapshots."""
