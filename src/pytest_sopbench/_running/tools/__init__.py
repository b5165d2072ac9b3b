"""The mock tools of one run, and the record of their calls."""
