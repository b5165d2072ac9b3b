"""What the process that prints the summary keeps of every run."""
