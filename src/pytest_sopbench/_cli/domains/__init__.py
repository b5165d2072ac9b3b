"""Commands on domains: made, listed, checked."""
