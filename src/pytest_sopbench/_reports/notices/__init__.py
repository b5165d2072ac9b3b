"""Single lines and listings: alarms, progress, what a command did."""
