"""A store, search index and vector index in memory: for tests and temporary vaults."""
