"""Variants: the same task under another SOP or other inputs, and what they tell."""
