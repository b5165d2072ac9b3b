"""Two sessions beside one another, task by task."""
