-- The messages that a summary covers.

ALTER TABLE entries ADD COLUMN conversation TEXT NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN from_message TEXT NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN to_message TEXT NOT NULL DEFAULT '';
DROP VIEW memories;
CREATE VIEW memories AS SELECT * FROM entries WHERE origin = 'memory';

-- Older files may have these keys. As in migration 5, each file is read again, so that the index has what
-- `muisti reindex` would read.
UPDATE seen SET size = -1, sha = '' WHERE memory_id IS NOT NULL;
PRAGMA application_id = 0;
