"""The one shape of a finished run, and the lines in which it is written."""
