"""Rules on trajectories, and what came of each in a run."""
