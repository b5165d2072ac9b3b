"""Read a folder as far as it can be read, and keep what cannot be."""
