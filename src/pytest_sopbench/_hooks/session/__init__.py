"""What one process knows of the session: domains, tasks, plan."""
