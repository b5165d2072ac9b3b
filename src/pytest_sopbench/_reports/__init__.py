"""Text for people and machines: values in, text out."""
