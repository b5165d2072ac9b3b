"""What was sent and got in one run: exchanges, how they are found again, and their files."""
