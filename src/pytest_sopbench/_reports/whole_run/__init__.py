"""One run with everything that is known of it, as wide as the terminal is."""
