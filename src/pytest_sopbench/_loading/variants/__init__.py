"""Variants of a domain: the automatic ones, and those of its folder."""
