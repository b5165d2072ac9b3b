"""One question to the judge, in words that a model reads, and what its reply means."""
