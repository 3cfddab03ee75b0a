"""The search index and the vector index in SQLite."""
