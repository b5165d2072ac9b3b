"""What a session prints and writes beside the saved session."""
