"""Code that is not ours: agents, tools and policies, loaded only where it is trusted."""
