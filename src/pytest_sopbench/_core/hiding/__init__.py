"""What must not leave a process: secrets, and characters that command a terminal."""
