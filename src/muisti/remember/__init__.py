"""Text in: the write path."""
