"""A domain in use: found and loaded, its tasks selected, its comparers found."""
