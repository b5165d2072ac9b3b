"""Threads, and what they wait for."""
