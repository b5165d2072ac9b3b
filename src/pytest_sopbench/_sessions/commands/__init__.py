"""What can be asked of saved sessions without running an agent."""
