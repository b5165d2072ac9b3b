"""Domains are made here: from the small example, from a table of cases, from a published folder."""
