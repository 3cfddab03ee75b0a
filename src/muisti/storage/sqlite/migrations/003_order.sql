-- Links, candidates for merging, and the decay of salience.

ALTER TABLE memories ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN trusted INTEGER NOT NULL DEFAULT 1;
ALTER TABLE memories ADD COLUMN links TEXT NOT NULL DEFAULT '';

-- The links of all memories, to be found from both ends. The other end may be missing: people edit files.
CREATE TABLE links (
    source       TEXT NOT NULL,
    type         TEXT NOT NULL,
    target       TEXT NOT NULL,
    confidence   REAL NOT NULL,
    extracted_by TEXT NOT NULL,
    proposed     INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    valid_from   INTEGER NOT NULL,
    valid_until  INTEGER,
    PRIMARY KEY (source, type, target)
) WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target, type);

-- Four 16-bit bands of each memory's simhash: two that differ in at most three bits share one of them.
CREATE TABLE bands (
    band    INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    simhash TEXT NOT NULL,
    PRIMARY KEY (band, n)
) WITHOUT ROWID;

ALTER TABLE usage ADD COLUMN idle_days REAL NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN first_used INTEGER;
ALTER TABLE usage ADD COLUMN saved_at INTEGER;

-- The files and the journal are read again.
DELETE FROM seen;
DELETE FROM usage;
DELETE FROM sessions;
DELETE FROM uses;
DELETE FROM marks;
PRAGMA application_id = 0;
