"""Counts that add: labels, fields, paths of documents, rules, procedures."""
