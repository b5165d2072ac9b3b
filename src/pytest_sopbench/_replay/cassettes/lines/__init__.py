"""The lines of a cassette: requests, replies, and the seal over them."""
