-- Project and user of sessions, conversations and documents.

ALTER TABLE sessions ADD COLUMN user TEXT NOT NULL DEFAULT '';
ALTER TABLE shelves ADD COLUMN user TEXT NOT NULL DEFAULT '';

-- Conversations that an event of the journal assigned to a project and a user.
CREATE TABLE assignments (
    chat    TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    user    TEXT NOT NULL
) WITHOUT ROWID;

-- A message without a project has no owner; it is not global.
UPDATE entries SET tier = 'project' WHERE origin = 'message';
UPDATE entries SET user = json_extract(m.meta, '$.user') FROM messages m
WHERE m.n = entries.n AND m.meta <> '' AND json_type(m.meta, '$.user') IS 'text';

-- To find what belongs to a project or a user, and whether a name is known.
CREATE INDEX entries_by_scope ON entries (project, user);
