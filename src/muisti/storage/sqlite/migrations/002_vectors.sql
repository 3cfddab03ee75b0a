-- Vectors of memories. A space has the vectors of one model: vectors of two models never mix.

ALTER TABLE memories ADD COLUMN source_hash TEXT NOT NULL DEFAULT '';
DROP INDEX memories_by_session;
CREATE INDEX memories_by_session ON memories (session_id, created_at, id) WHERE session_id IS NOT NULL;
CREATE INDEX memories_by_project ON memories (project, tier);

-- One space serves searches; after a change of the model, another is filled, and replaces it when it is complete.
CREATE TABLE spaces (
    space      INTEGER PRIMARY KEY AUTOINCREMENT,
    model      TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    revision   TEXT NOT NULL,
    serving    INTEGER NOT NULL,
    centre     BLOB,              -- what is taken off a vector before its signs are read: float32
    centred_on INTEGER NOT NULL DEFAULT 0 -- how many vectors there were when the centre was found
);

-- One row for each piece of a memory. `codes` are the components as bytes, to be multiplied with `scale`.
CREATE TABLE vectors (
    v       INTEGER PRIMARY KEY AUTOINCREMENT,
    space   INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    heading TEXT NOT NULL,
    scale   REAL NOT NULL,
    codes   BLOB NOT NULL,
    rest    BLOB NOT NULL         -- what the bytes leave over, in 254ths: together as good as the numbers themselves
);
CREATE INDEX vectors_by_memory ON vectors (n, space);

-- The signs of each vector, packed, which a search scans. Full blocks of 4,096, and the latest one by one.
CREATE TABLE signs (
    v     INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    bits  BLOB NOT NULL
);
CREATE TABLE sign_blocks (
    space   INTEGER NOT NULL,
    first_v INTEGER NOT NULL,
    last_v  INTEGER NOT NULL,
    numbers BLOB NOT NULL,        -- int64: the v of each; 0 for one that is gone
    bits    BLOB NOT NULL,        -- uint64, all first words, then all second words, and so on
    PRIMARY KEY (space, first_v)
);

-- Which memories have vectors, and which are waiting for them.
CREATE TABLE embedded (
    space  INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    pieces INTEGER NOT NULL,
    PRIMARY KEY (n, space)
) WITHOUT ROWID;
CREATE TABLE unembedded (
    space INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (n, space)
) WITHOUT ROWID;

-- Existing rows do not say which text they belong to: the files are read again.
DELETE FROM seen;
PRAGMA application_id = 0;
