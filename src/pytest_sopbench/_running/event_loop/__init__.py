"""The loop of async agents, and the bridges to code that blocks."""
