"""What things are: tasks, traces, trajectories, verdicts."""
