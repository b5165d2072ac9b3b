"""What can be set: one table of options, how their texts are read, and the project's file."""
