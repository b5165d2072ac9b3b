"""A session as a page in Markdown, for comments on pull requests and summaries of jobs."""
