"""The vault in PostgreSQL with pgvector: store, search index and vectors in one transaction."""
