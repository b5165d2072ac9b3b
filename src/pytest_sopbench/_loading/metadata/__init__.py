"""`metadata.json`: its shape, its keys, and the layout of published folders."""
