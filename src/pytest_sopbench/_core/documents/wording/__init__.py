"""The words for how a value differs: what is seen, and never a cause."""
