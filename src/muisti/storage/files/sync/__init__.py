"""Keep the index up to date with the files of a vault."""
