"""Set up agents: plan, show and write the entries of muisti in their configuration."""
