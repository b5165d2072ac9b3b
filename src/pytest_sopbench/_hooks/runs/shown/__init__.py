"""What is shown of a run: to its test, and to whoever reads why that failed."""
