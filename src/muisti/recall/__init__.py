"""Context out: the read path."""
