"""What is asked for by name: agents, domains, and folders that stand for the domains in them."""
