"""What many runs come to: counts that add, and the rates that derive from them."""
