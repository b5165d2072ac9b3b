"""A proxy on loopback, for agents in another process or in another language."""
