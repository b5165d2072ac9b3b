"""What each process has begun and ended, on disk at once."""
