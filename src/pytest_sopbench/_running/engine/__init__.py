"""Many runs in flight inside one process."""
