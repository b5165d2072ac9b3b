"""A saved session, read: whole, or left behind by a process that died."""
