"""Two documents, compared: place by place, lists paired, one place of them alone."""
