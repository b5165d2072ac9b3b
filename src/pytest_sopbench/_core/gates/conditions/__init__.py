"""What a gate asks: of rates, of fields, of comparisons, and where."""
