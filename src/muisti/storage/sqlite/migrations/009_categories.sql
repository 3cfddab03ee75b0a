-- The categories of a memory.

ALTER TABLE entries ADD COLUMN categories TEXT NOT NULL DEFAULT '';
DROP VIEW memories;
CREATE VIEW memories AS SELECT * FROM entries WHERE origin = 'memory';

-- Older files may have this key, so each is read again, as in migration 5.
UPDATE seen SET size = -1, sha = '' WHERE memory_id IS NOT NULL;
PRAGMA application_id = 0;
