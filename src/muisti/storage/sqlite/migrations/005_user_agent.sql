-- Whom a memory belongs to, and who wrote it.

ALTER TABLE entries ADD COLUMN user TEXT NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN agent TEXT NOT NULL DEFAULT '';
DROP VIEW memories;
CREATE VIEW memories AS SELECT * FROM entries WHERE origin = 'memory';

-- Files of before may have these keys, written by a person for a purpose of their own. So that the index says what
-- `muisti reindex` would make of them, each file is read once more. The rows of `seen` stay: files that vanished or
-- moved meanwhile are noticed as ever. Vectors stay too, for no text changes.
UPDATE seen SET size = -1, sha = '' WHERE memory_id IS NOT NULL;
PRAGMA application_id = 0;
