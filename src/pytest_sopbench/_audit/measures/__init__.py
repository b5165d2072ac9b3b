"""What can be measured of rows and texts: rules of one question, numbers, clauses."""
