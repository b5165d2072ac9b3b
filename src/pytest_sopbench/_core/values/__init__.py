"""JSON values at the door: read, normalised, matched."""
