"""A snapshot: a disposable copy of what searching needs, in columns. It names no store.

The store stays the source: a snapshot is made from one state of it, and every row that changed
since is read from there. Without a usable snapshot, searches run in the store.

- `source`: what a snapshot needs of a store
- `build`: from the store to arrays
- `table`: a snapshot together with the rows that changed since; searches run on it
- `search`: the port ColumnSearch on a table
"""
