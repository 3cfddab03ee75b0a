"""The schema, one numbered file a change."""

NEWEST = 5
"""The last of them; that it is, is tested. Most indexes are at it, and no file has to be read."""
