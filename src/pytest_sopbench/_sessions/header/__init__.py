"""The first line of a saved session: options, agents, commit."""
