"""Where traffic is seen: the libraries by which clients send requests, and a proxy on loopback."""
