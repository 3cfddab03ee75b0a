-- The index of a vault. Everything in it is derived from the files and can be rebuilt.
-- Times are microseconds since 1970, UTC.

CREATE TABLE memories (
    n            INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    project      TEXT NOT NULL,
    tier         TEXT NOT NULL,
    session_id   TEXT,
    kind         TEXT NOT NULL,
    sector       TEXT NOT NULL,
    deleted_at   INTEGER,
    valid_from   INTEGER,
    valid_until  INTEGER,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    importance   REAL NOT NULL,
    salience     REAL NOT NULL,
    source       TEXT NOT NULL,
    path         TEXT NOT NULL UNIQUE,
    title        TEXT NOT NULL,
    summary      TEXT NOT NULL,
    keywords     TEXT NOT NULL,
    concepts     TEXT NOT NULL,
    files        TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    simhash      TEXT NOT NULL,
    content      TEXT NOT NULL
);
CREATE INDEX memories_by_hash ON memories (content_hash, project);
CREATE INDEX memories_by_time ON memories (created_at);
CREATE INDEX memories_by_session ON memories (session_id, created_at) WHERE session_id IS NOT NULL;

-- Keywords and files of memories, for filters.
CREATE TABLE labels (
    field TEXT NOT NULL,
    value TEXT NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (field, value, n)
) WITHOUT ROWID;
CREATE INDEX labels_by_memory ON labels (n);

-- Usage of each memory, and sessions, from the journal. Kept when a file disappears: it may come back.
CREATE TABLE usage (
    id            TEXT PRIMARY KEY,
    salience      REAL,
    touched_at    INTEGER,
    access_count  INTEGER NOT NULL,
    last_accessed INTEGER,
    edited_at     INTEGER
) WITHOUT ROWID;
CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    project    TEXT NOT NULL,
    status     TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    summary    TEXT NOT NULL,
    tool_calls INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE uses (
    session_id TEXT NOT NULL,
    memory_id  TEXT NOT NULL,
    what       TEXT NOT NULL,
    at         INTEGER NOT NULL
);
CREATE INDEX uses_by_session ON uses (session_id);
CREATE INDEX uses_by_memory ON uses (memory_id);

-- The state of the files and of the journal when they were last read, to notice changes.
CREATE TABLE seen (
    path      TEXT PRIMARY KEY,
    size      INTEGER NOT NULL,
    mtime_ns  INTEGER NOT NULL,
    inode     INTEGER NOT NULL,
    seen_ns   INTEGER NOT NULL,
    sha       TEXT NOT NULL,
    memory_id TEXT
) WITHOUT ROWID;
CREATE TABLE problems (
    path   TEXT NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE marks (
    file     TEXT PRIMARY KEY,
    offset   INTEGER NOT NULL,
    tail_sha TEXT NOT NULL
) WITHOUT ROWID;

-- The words of each memory as muisti.text.tokens makes them, separated by spaces.
CREATE TABLE words (
    n      INTEGER PRIMARY KEY,
    title  TEXT NOT NULL,
    labels TEXT NOT NULL,
    body   TEXT NOT NULL
);
CREATE VIRTUAL TABLE word_index USING fts5 (
    title, labels, body,
    content = 'words', content_rowid = 'n',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);
INSERT INTO word_index (word_index, rank) VALUES ('secure-delete', 1);
INSERT INTO word_index (word_index, rank) VALUES ('rank', 'bm25(3.0, 2.0, 1.0)');
-- A query reads every segment: with few of them it takes a third of the time, and merging early costs saves next to nothing.
INSERT INTO word_index (word_index, rank) VALUES ('automerge', 2);
INSERT INTO word_index (word_index, rank) VALUES ('crisismerge', 4);
CREATE TRIGGER words_inserted AFTER INSERT ON words BEGIN
    INSERT INTO word_index (rowid, title, labels, body) VALUES (new.n, new.title, new.labels, new.body);
END;
CREATE TRIGGER words_deleted AFTER DELETE ON words BEGIN
    INSERT INTO word_index (word_index, rowid, title, labels, body)
    VALUES ('delete', old.n, old.title, old.labels, old.body);
END;

-- Every distinct word with the number of memories that contain it, and an index of its parts: compounds, inflected
-- forms and typos are looked for among the words, which are few, not among the texts.
CREATE TABLE lexicon (
    n    INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE,
    memories INTEGER NOT NULL
);
CREATE VIRTUAL TABLE lexicon_parts USING fts5 (
    word,
    content = 'lexicon', content_rowid = 'n', detail = none,
    tokenize = 'trigram'
);
INSERT INTO lexicon_parts (lexicon_parts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER lexicon_inserted AFTER INSERT ON lexicon BEGIN
    INSERT INTO lexicon_parts (rowid, word) VALUES (new.n, new.word);
END;
CREATE TRIGGER lexicon_deleted AFTER DELETE ON lexicon BEGIN
    INSERT INTO lexicon_parts (lexicon_parts, rowid, word) VALUES ('delete', old.n, old.word);
END;
CREATE TABLE totals (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO totals VALUES ('memories', 0);
CREATE TRIGGER words_counted AFTER INSERT ON words BEGIN
    UPDATE totals SET value = value + 1 WHERE name = 'memories';
END;
CREATE TRIGGER words_discounted AFTER DELETE ON words BEGIN
    UPDATE totals SET value = value - 1 WHERE name = 'memories';
END;
