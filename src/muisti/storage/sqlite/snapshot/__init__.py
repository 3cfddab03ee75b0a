"""The snapshot of a SQLite index (see `muisti.storage.snapshot`): a memory-mapped file beside it.

Without a usable snapshot, searches use FTS5 and the vector tables.

- `file`: the file format
- `build`: from the index to a file
- `keeper`: which snapshot is current, and when a new one is built
"""
