"""The judge, held against the labels of people."""
