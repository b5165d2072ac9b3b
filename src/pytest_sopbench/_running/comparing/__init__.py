"""Ask functions of the user whether a field of an answer is right, while its run is in flight."""
