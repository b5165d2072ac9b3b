"""The libraries by which clients send requests, each patched where its requests pass."""
