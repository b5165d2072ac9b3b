"""The folder of snapshots, and what was approved for it."""
