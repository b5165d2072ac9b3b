"""A table as people have it, read: cells become text, and every oddity is told."""
