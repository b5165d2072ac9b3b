"""What a run shows beside its calls: output, logs, exceptions, interrupts."""
