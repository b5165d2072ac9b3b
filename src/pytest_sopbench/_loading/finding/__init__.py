"""Which domains a name means, and which there are."""
