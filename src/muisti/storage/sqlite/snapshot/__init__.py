"""A snapshot: a disposable, memory-mapped copy of what searching needs, in columns.

SQLite stays the source: a snapshot is made from one state of the index, and every row that changed
since is read from the index. Without a usable snapshot, searches use FTS5 and the vector tables.

- `file`: the file format
- `build`: from the index to a file
- `table`: a snapshot together with the rows that changed since; searches run on it
- `keeper`: which snapshot is current, and when a new one is built
"""
