"""The index in SQLite."""
