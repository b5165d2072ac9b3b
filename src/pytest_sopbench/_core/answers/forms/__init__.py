"""The forms in which a text can hold an answer: one module for each."""
