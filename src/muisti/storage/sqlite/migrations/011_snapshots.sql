-- A snapshot is a file beside the index with a copy of what searching needs, in columns. These tables say which one
-- is current, and which rows changed after it was made: those are read from the index.

CREATE TABLE snapshots (
    name TEXT PRIMARY KEY,
    seq  INTEGER NOT NULL         -- the last change that it contains
) WITHOUT ROWID;
CREATE TABLE purges (             -- how often texts were permanently deleted
    count INTEGER NOT NULL
);
INSERT INTO purges VALUES (0);
CREATE TABLE changed (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    n   INTEGER NOT NULL
);
CREATE TRIGGER entries_inserted AFTER INSERT ON entries BEGIN
    INSERT INTO changed (n) VALUES (new.n);
END;
CREATE TRIGGER entries_updated AFTER UPDATE ON entries BEGIN
    INSERT INTO changed (n) VALUES (new.n);
END;
CREATE TRIGGER entries_deleted AFTER DELETE ON entries BEGIN
    INSERT INTO changed (n) VALUES (old.n);
END;
-- A snapshot has the vectors of the serving space only.
CREATE TRIGGER vectors_inserted AFTER INSERT ON vectors
WHEN (SELECT serving FROM spaces WHERE space = new.space) BEGIN
    INSERT INTO changed (n) VALUES (new.n);
END;
CREATE TRIGGER vectors_deleted AFTER DELETE ON vectors
WHEN (SELECT serving FROM spaces WHERE space = old.space) BEGIN
    INSERT INTO changed (n) VALUES (old.n);
END;
