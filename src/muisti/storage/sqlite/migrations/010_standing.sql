-- Whether a memory is a standing instruction or a preference, judged by its text.

ALTER TABLE entries ADD COLUMN standing INTEGER NOT NULL DEFAULT 0;
DROP VIEW memories;
CREATE VIEW memories AS SELECT * FROM entries WHERE origin = 'memory';
CREATE INDEX entries_standing ON entries (created_at) WHERE standing = 1;

-- Each file is read again, to derive it. Vectors stay: no text changes.
UPDATE seen SET size = -1, sha = '' WHERE memory_id IS NOT NULL;
PRAGMA application_id = 0;
