"""Domain folders that cannot be used, one file of them for each file of a folder."""
