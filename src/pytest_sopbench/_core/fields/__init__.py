"""Output fields: their types, their values, and how an answer is compared with them."""
