"""Keeps chosen memories in an agent's own memory folder, and takes edits from there."""
