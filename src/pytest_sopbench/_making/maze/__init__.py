"""Domains made from files as SOP-Maze publishes them."""
