"""Run the code of a domain in a process of its own, and keep what it did."""
