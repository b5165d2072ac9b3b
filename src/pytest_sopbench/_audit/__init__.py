"""The audit: whether a domain is sound, and what is not. It looks at what loading refuses, too."""
