"""Prices of models: of the user's own file, and of the library genai-prices."""
