"""The steps of an SOP: where each begins and ends, and what the text says of it."""
