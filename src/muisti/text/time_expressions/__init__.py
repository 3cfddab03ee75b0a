"""Times in words: the span that a question speaks of, and the date that a statement means."""
