"""Time limits, and the time that each run has really used."""
