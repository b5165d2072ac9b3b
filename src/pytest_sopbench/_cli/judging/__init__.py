"""Commands that judge again, and that hold a model judge against people's labels."""
