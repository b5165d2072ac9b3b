"""The file of a saved session: written, read, and derived from others."""
