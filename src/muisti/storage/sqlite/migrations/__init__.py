"""The schema: one numbered SQL file for each migration."""

NEWEST = 12
"""The number of the last migration, so that a current index needs no file to be read."""
