-- Other titles of a memory, and the tags and wikilinks in its text.
ALTER TABLE entries
    ADD aliases text[] NOT NULL DEFAULT '{}',
    ADD hashtags text[] NOT NULL DEFAULT '{}',
    ADD wikilinks text[] NOT NULL DEFAULT '{}';

-- Rows that are there do not have them yet: the first process that may write builds the index of a tenant again.
ALTER TABLE totals ADD stale boolean NOT NULL DEFAULT false;
INSERT INTO totals (tenant, stale) SELECT DISTINCT tenant, true FROM memories
ON CONFLICT (tenant) DO UPDATE SET stale = true;
