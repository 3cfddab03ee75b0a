"""A vault in a git repository: the merge driver and its set-up."""
