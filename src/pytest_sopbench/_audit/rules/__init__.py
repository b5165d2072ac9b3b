"""The rules, one file for each group of them."""
