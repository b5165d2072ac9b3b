"""A published SOP-Bench folder becomes a domain of our layout."""
