"""What the script of the page reads: runs for its table, and each run in detail."""
