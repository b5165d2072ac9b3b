"""Audits as text, JSON and SARIF."""
