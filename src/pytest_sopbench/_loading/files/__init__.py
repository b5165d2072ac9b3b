"""Files as text, JSON, TOML and rows of cells, with the place of each mistake."""
