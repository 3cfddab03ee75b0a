-- When a session was last used, from the journal, which is read again.

ALTER TABLE sessions ADD COLUMN last_used INTEGER;
DELETE FROM usage;
DELETE FROM sessions;
DELETE FROM uses;
DELETE FROM marks;
PRAGMA application_id = 0;
