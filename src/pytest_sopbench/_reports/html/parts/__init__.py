"""What stands in the page without its script: numbers, tables and charts."""
