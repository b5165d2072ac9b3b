"""What was asked and judged, kept so that nothing is paid for twice."""
