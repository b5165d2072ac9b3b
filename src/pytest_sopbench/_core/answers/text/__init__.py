"""A text made ready to be searched: what is no answer is left out of it."""
