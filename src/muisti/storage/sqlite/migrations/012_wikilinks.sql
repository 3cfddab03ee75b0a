-- Other titles of a memory, and the tags and wikilinks in its text.

ALTER TABLE entries ADD COLUMN aliases TEXT NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN hashtags TEXT NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN wikilinks TEXT NOT NULL DEFAULT '';
DROP VIEW memories;
CREATE VIEW memories AS SELECT * FROM entries WHERE origin = 'memory';

-- Each file is read again, to derive them. Vectors stay: no text changes.
UPDATE seen SET size = -1, sha = '' WHERE memory_id IS NOT NULL;
PRAGMA application_id = 0;
