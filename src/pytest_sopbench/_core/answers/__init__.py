"""The answer, found in what an agent returned."""
