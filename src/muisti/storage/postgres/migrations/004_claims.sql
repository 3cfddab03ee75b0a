-- Several processes share the work of one vault. A piece of work is free if its claim has run out and it has not been tried too
-- often. claimed_by is empty while nothing works on it; claimed_until may then be the time before which it is not tried again.

ALTER TABLE queue
    ADD accepted_by text NOT NULL DEFAULT '',
    ADD attempts integer NOT NULL DEFAULT 0,
    ADD error text NOT NULL DEFAULT '';     -- of the last attempt

ALTER TABLE unembedded
    ADD claimed_by text NOT NULL DEFAULT '',
    ADD claimed_until timestamptz NOT NULL DEFAULT '-infinity',
    ADD attempts integer NOT NULL DEFAULT 0,
    ADD error text NOT NULL DEFAULT '';

-- When maintenance ran last, and which process runs it.
CREATE TABLE maintenance (
    tenant        integer NOT NULL DEFAULT current_setting('muisti.tenant')::integer PRIMARY KEY,
    claimed_by    text NOT NULL,
    claimed_until timestamptz NOT NULL,
    started_at    timestamptz NOT NULL,
    complete      boolean NOT NULL          -- false while it runs, or if it failed
);
