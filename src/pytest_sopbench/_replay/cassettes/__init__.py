"""Recordings on disk: one file for each task, texts that many share beside them."""
