"""Times in text: what a question asks about, and relative times in statements."""
