-- When a session was last used. The journal says it, and is read once more.

ALTER TABLE sessions ADD COLUMN last_used INTEGER;
DELETE FROM usage;
DELETE FROM sessions;
DELETE FROM uses;
DELETE FROM marks;
PRAGMA application_id = 0;
