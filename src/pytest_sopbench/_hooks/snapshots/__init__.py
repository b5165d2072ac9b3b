"""The fixture `sop_snapshot`, and what a session says of snapshots."""
