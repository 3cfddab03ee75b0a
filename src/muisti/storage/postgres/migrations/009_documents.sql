-- Notes of agents and documents are rows of files, with what the index has of a document: its source (null: it is none), a digest
-- of its file, and why it is not searched. Outside: a copy of a file that is not in the vault; `pull` leaves it out.
-- A path that ends with a slash is a folder of notes.
ALTER TABLE files
    ADD changed_at bigint NOT NULL DEFAULT (extract(epoch FROM now()) * 1000000)::bigint,
    ADD outside boolean NOT NULL DEFAULT false,
    ADD source text COLLATE "C",
    ADD version text COLLATE "C" NOT NULL DEFAULT '',
    ADD problem text NOT NULL DEFAULT '';
CREATE INDEX files_by_source ON files (tenant, source, path) WHERE source IS NOT NULL;

-- Documents that were pushed before are not indexed yet: the first process that may write builds the index again.
INSERT INTO totals (tenant, stale) SELECT DISTINCT tenant, true FROM files
ON CONFLICT (tenant) DO UPDATE SET stale = true;
