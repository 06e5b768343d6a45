"""Whether the worst normal delay, processing and all retries fit into the life of a reset."""
