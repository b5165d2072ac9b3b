"""What is listed line by line: domains, the steps of an SOP, the runs of a session."""
