"""Text that fits a width: values, numbers, mismatches."""
