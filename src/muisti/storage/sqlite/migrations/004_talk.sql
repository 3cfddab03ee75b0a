-- Conversations and documents are searched like memories, so their texts are in one table with them.

CREATE TABLE entries (
    n            INTEGER PRIMARY KEY,
    origin       TEXT NOT NULL DEFAULT 'memory', -- memory, document, message
    id           TEXT NOT NULL UNIQUE,
    project      TEXT NOT NULL,
    tier         TEXT NOT NULL,
    session_id   TEXT,                           -- of a message: its chat
    kind         TEXT NOT NULL,
    sector       TEXT NOT NULL,
    deleted_at   INTEGER,
    valid_from   INTEGER,
    valid_until  INTEGER,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    importance   REAL NOT NULL DEFAULT 0.5,
    salience     REAL NOT NULL DEFAULT 1.0,
    source       TEXT NOT NULL,
    path         TEXT NOT NULL,
    title        TEXT NOT NULL,
    summary      TEXT NOT NULL DEFAULT '',
    keywords     TEXT NOT NULL DEFAULT '',
    concepts     TEXT NOT NULL DEFAULT '',
    files        TEXT NOT NULL DEFAULT '',
    content_hash TEXT NOT NULL,
    simhash      TEXT NOT NULL DEFAULT '',
    content      TEXT NOT NULL,
    source_hash  TEXT NOT NULL,
    pinned       INTEGER NOT NULL DEFAULT 0,
    trusted      INTEGER NOT NULL DEFAULT 1,
    links        TEXT NOT NULL DEFAULT ''
);
INSERT INTO entries (n, id, project, tier, session_id, kind, sector, deleted_at, valid_from, valid_until, created_at, updated_at,
    importance, salience, source, path, title, summary, keywords, concepts, files, content_hash, simhash, content, source_hash,
    pinned, trusted, links)
SELECT n, id, project, tier, session_id, kind, sector, deleted_at, valid_from, valid_until, created_at, updated_at,
    importance, salience, source, path, title, summary, keywords, concepts, files, content_hash, simhash, content, source_hash,
    pinned, trusted, links FROM memories;
DROP TABLE memories;

-- This view has memories only: maintenance, lists and links never touch a conversation.
CREATE VIEW memories AS SELECT * FROM entries WHERE origin = 'memory';
CREATE UNIQUE INDEX memories_by_path ON entries (path) WHERE origin = 'memory';
CREATE INDEX memories_by_hash ON entries (content_hash, project) WHERE origin = 'memory';
CREATE INDEX memories_by_time ON entries (created_at) WHERE origin = 'memory';
CREATE INDEX memories_by_project ON entries (project, tier) WHERE origin = 'memory';
CREATE INDEX entries_by_session ON entries (session_id, created_at, id) WHERE session_id IS NOT NULL;
CREATE INDEX documents_by_path ON entries (path) WHERE origin = 'document';

-- The fields of a message other than its text. Its place is its file and the offset of its line.
CREATE TABLE messages (
    n          INTEGER PRIMARY KEY,
    chat       TEXT NOT NULL,
    file       TEXT NOT NULL,
    place      INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    at         INTEGER NOT NULL,
    role       TEXT NOT NULL,
    type       TEXT,
    meta       TEXT NOT NULL
);
CREATE INDEX messages_by_place ON messages (chat, file, place);
CREATE INDEX messages_by_id ON messages (message_id, chat);
CREATE INDEX messages_that_break ON messages (chat, file, place) WHERE type = 'session_break';

-- How far each file of a conversation was read, and its state at that time.
CREATE TABLE talk (
    file     TEXT PRIMARY KEY,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode    INTEGER NOT NULL,
    seen_ns  INTEGER NOT NULL,
    offset   INTEGER NOT NULL,
    tail_sha TEXT NOT NULL
) WITHOUT ROWID;

-- Document sources, which are files and folders elsewhere, from the journal; and their files when they were last read.
CREATE TABLE shelves (
    path    TEXT PRIMARY KEY,
    source  TEXT NOT NULL,
    project TEXT NOT NULL,
    trusted INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE documents (
    path     TEXT PRIMARY KEY,
    shelf    TEXT NOT NULL,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode    INTEGER NOT NULL,
    seen_ns  INTEGER NOT NULL,
    sha      TEXT NOT NULL
) WITHOUT ROWID;

-- The files are read again, as some words are indexed differently now; and the journal, which lists the document
-- sources.
DELETE FROM seen;
DELETE FROM usage;
DELETE FROM sessions;
DELETE FROM uses;
DELETE FROM marks;
PRAGMA application_id = 0;
