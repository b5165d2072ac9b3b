"""The one loop in the house: toolbox, a domain's own code, agents, the runner."""
