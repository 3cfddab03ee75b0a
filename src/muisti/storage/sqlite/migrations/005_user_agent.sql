-- The user that a memory belongs to, and the agent that wrote it.

ALTER TABLE entries ADD COLUMN user TEXT NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN agent TEXT NOT NULL DEFAULT '';
DROP VIEW memories;
CREATE VIEW memories AS SELECT * FROM entries WHERE origin = 'memory';

-- Older files may have these keys, written by a person for another purpose. So that the index has what
-- `muisti reindex` would read, each file is read again. The rows of `seen` stay: files that disappeared or moved in the
-- meantime are noticed as usual. Vectors stay too: no text changes.
UPDATE seen SET size = -1, sha = '' WHERE memory_id IS NOT NULL;
PRAGMA application_id = 0;
