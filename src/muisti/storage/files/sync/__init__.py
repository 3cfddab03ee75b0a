"""Keep the index in step with the files of a vault."""
