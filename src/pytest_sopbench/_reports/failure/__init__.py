"""One run in full: what a test that fails prints."""
