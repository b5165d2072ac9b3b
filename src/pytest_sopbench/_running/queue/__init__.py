"""Runs that an engine was asked for: what each needs, where each stands."""
