"""Scope: what a project, a user and a session see, and what is left when they are forgotten."""
