"""The process itself: output, debuggers, imports, and ways to end it."""
