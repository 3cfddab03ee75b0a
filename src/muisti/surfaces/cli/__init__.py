"""The command `muisti`."""
