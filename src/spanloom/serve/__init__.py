"""The HTTP API: requests in, annotation out, by one model thread."""
