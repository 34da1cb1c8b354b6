"""The HTTP API: requests in, annotation out, by two model processes."""
