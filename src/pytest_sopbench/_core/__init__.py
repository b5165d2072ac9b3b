"""What things are and how they are judged: no disk, no clock, no pytest, no provider."""
