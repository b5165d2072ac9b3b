"""Single lines: alarms, progress, what a command did."""
