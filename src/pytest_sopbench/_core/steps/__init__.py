"""The steps of an SOP: where each begins and ends, what the text says of it, who approves it."""
