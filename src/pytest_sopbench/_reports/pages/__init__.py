"""A session as a page."""
