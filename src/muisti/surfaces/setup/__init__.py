"""Setting up agents: what is written into their configuration, shown first, kept apart from everything else in there."""
