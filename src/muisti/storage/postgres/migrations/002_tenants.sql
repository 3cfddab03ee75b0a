-- Tenants are kept apart by the server: row-level security on every table that has a tenant, for the owner too. A role
-- that may only read and write rows sees and writes those of the tenant in the setting muisti.tenant; without it, none.

CREATE SEQUENCE tenant_numbers AS integer START 2;

ALTER TABLE tenants
    ADD COLUMN created_at   timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN max_memories bigint,          -- none of the three: no limit
    ADD COLUMN max_bytes    bigint,
    ADD COLUMN max_requests integer;         -- a minute

-- Earlier, a tenant was only a number in the address.
INSERT INTO tenants (tenant, name)
SELECT tenant, 'tenant-' || tenant
FROM (SELECT tenant FROM vault UNION SELECT tenant FROM memories UNION SELECT tenant FROM events) used
WHERE tenant > 0 ON CONFLICT DO NOTHING;

-- Tokens of clients: only their hashes.
CREATE TABLE tokens (
    tenant     integer NOT NULL REFERENCES tenants,
    hash       bytea PRIMARY KEY,            -- SHA-256 of the token
    id         text COLLATE "C" NOT NULL UNIQUE,
    label      text NOT NULL,
    scope      text NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE INDEX tokens_by_tenant ON tokens (tenant, created_at);

-- What administrators did. It outlives the tenants that it is about.
CREATE TABLE audit (
    n           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    role        text NOT NULL DEFAULT session_user,
    act         text NOT NULL,
    about       integer,                     -- the number of a tenant
    tenant_name text NOT NULL,
    details     text NOT NULL                -- JSON
);
CREATE INDEX audit_by_tenant ON audit (about, n);

-- How much a tenant stores; triggers below count it.
CREATE TABLE stored (
    tenant   integer PRIMARY KEY,
    memories bigint NOT NULL,
    bytes    bigint NOT NULL
);
-- Requests in the current minute. Lost if the server crashes, which does no harm.
CREATE UNLOGGED TABLE requests (
    tenant integer PRIMARY KEY,
    minute bigint NOT NULL,
    count  integer NOT NULL
);

-- Keep the rows of a table to the current tenant, and make or renew its view. Policy and view have the same condition, which
-- the planner then counts once. NULL, if the setting is missing or empty, shows no row and accepts none.
CREATE OR REPLACE FUNCTION create_tenant_view(name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    condition text := 'tenant = nullif(current_setting(''muisti.tenant'', true), '''')::integer';
BEGIN
    EXECUTE format('ALTER TABLE muisti.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE muisti.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('DROP POLICY IF EXISTS tenant_rows ON muisti.%I', name);
    EXECUTE format(
        'CREATE POLICY tenant_rows ON muisti.%1$I USING (%2$s) WITH CHECK (%2$s)', name, condition);
    EXECUTE format(
        'CREATE OR REPLACE VIEW muisti_tenant.%1$I WITH (security_invoker) AS '
        'SELECT * FROM muisti.%1$I WHERE %2$s', name, condition);
END $$;

-- Do that for every table that has a tenant. Migrations end with it, so none is forgotten.
CREATE FUNCTION protect_tables() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text;
    owner regrole;
BEGIN
    FOR name IN
        SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'muisti'::regnamespace AND c.relkind IN ('r', 'p')
        AND a.attname = 'tenant' AND NOT a.attisdropped ORDER BY 1
    LOOP
        PERFORM muisti.create_tenant_view(name);
    END LOOP;
    -- The administrator is the owner, and has to say so: muisti.admin. Its function admit sees a token whose hash it has.
    SELECT relowner INTO owner FROM pg_class WHERE oid = 'muisti.tenants'::regclass;
    FOREACH name IN ARRAY ARRAY['tenants', 'tokens', 'audit'] LOOP
        EXECUTE format('ALTER TABLE muisti.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE muisti.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('DROP POLICY IF EXISTS administration ON muisti.%I', name);
        EXECUTE format(
            'CREATE POLICY administration ON muisti.%I TO %s '
            'USING (current_setting(''muisti.admin'', true) = ''on'') '
            'WITH CHECK (current_setting(''muisti.admin'', true) = ''on'')', name, owner);
    END LOOP;
    DROP POLICY IF EXISTS presented ON muisti.tokens;
    EXECUTE format(
        'CREATE POLICY presented ON muisti.tokens FOR SELECT TO %s '
        'USING (hash = decode(nullif(current_setting(''muisti.token'', true), ''''), ''hex''))', owner);
END $$;

-- Let the owner change the rows of all tenants in a migration, until protect_tables.
CREATE FUNCTION unprotect_tables() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT relname FROM pg_class WHERE relnamespace = 'muisti'::regnamespace AND relforcerowsecurity
    LOOP
        EXECUTE format('ALTER TABLE muisti.%I NO FORCE ROW LEVEL SECURITY', name);
    END LOOP;
END $$;

-- Each table whose rows count has a trigger for what a statement added and removed.
CREATE FUNCTION count_rows_of(name text, bytes text) RETURNS void LANGUAGE plpgsql AS $make$
DECLARE
    live text := CASE WHEN name = 'memories'
        THEN '(NOT archived AND path NOT LIKE ''.trash/%'')::integer' ELSE '0' END;
    added text := format('SELECT tenant, %s AS m, %s AS b FROM added', live, bytes);
    removed text := format('SELECT tenant, -%s AS m, -(%s) AS b FROM removed', live, bytes);
    count text := 'INSERT INTO muisti.stored AS s (tenant, memories, bytes) '
        'SELECT tenant, sum(m), sum(b) FROM (%s) changed GROUP BY tenant HAVING sum(m) <> 0 OR sum(b) <> 0 '
        'ON CONFLICT (tenant) DO UPDATE SET memories = s.memories + excluded.memories, '
        'bytes = s.bytes + excluded.bytes';
BEGIN
    EXECUTE format($body$
        CREATE FUNCTION muisti.%1$I() RETURNS trigger
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = muisti, pg_temp AS $$
        BEGIN
            IF TG_OP = 'INSERT' THEN %2$s;
            ELSIF TG_OP = 'DELETE' THEN %3$s;
            ELSE %4$s;
            END IF;
            RETURN NULL;
        END $$$body$, 'count_' || name, format(count, added), format(count, removed),
        format(count, added || ' UNION ALL ' || removed));
    EXECUTE format('CREATE TRIGGER count_added AFTER INSERT ON muisti.%I REFERENCING NEW TABLE AS added '
        'FOR EACH STATEMENT EXECUTE FUNCTION muisti.%I()', name, 'count_' || name);
    EXECUTE format('CREATE TRIGGER count_removed AFTER DELETE ON muisti.%I REFERENCING OLD TABLE AS removed '
        'FOR EACH STATEMENT EXECUTE FUNCTION muisti.%I()', name, 'count_' || name);
    EXECUTE format('CREATE TRIGGER count_changed AFTER UPDATE ON muisti.%I '
        'REFERENCING OLD TABLE AS removed NEW TABLE AS added '
        'FOR EACH STATEMENT EXECUTE FUNCTION muisti.%I()', name, 'count_' || name);
    EXECUTE format(count, replace(added, 'FROM added', 'FROM muisti.' || quote_ident(name)));
END $make$;
SELECT count_rows_of('memories', 'octet_length(file)');
SELECT count_rows_of('versions', 'octet_length(file)');
SELECT count_rows_of('lines', 'octet_length(content) + octet_length(meta)');
SELECT count_rows_of('other_lines', 'octet_length(raw)');
SELECT count_rows_of('files', 'octet_length(file)');
SELECT count_rows_of('core', 'octet_length(key) + octet_length(value)');
SELECT count_rows_of('trashed_core', 'octet_length(key) + octet_length(value)');
SELECT count_rows_of('queue', 'octet_length(exchange)');
DROP FUNCTION count_rows_of;

-- Return the tenant of a token and count the request. No row: no such token. Problem: expired, revoked or busy, and then
-- how many seconds to wait. A role needs no right on the tables behind it.
CREATE FUNCTION admit(a_hash bytea) RETURNS TABLE (
    tenant integer, name text, token text, scope text, problem text, max_requests integer, wait integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = muisti, pg_temp AS $$
#variable_conflict use_column
DECLARE
    this_minute bigint := floor(extract(epoch FROM clock_timestamp()) / 60);
    used integer;
    known tokens;
BEGIN
    PERFORM set_config('muisti.token', encode(a_hash, 'hex'), true);
    SELECT * INTO known FROM tokens t WHERE t.hash = a_hash;
    PERFORM set_config('muisti.token', '', true);
    IF known.hash IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('muisti.tenant', known.tenant::text, true);
    SELECT t.tenant, t.name, known.id, known.scope, '', t.max_requests, 0
    INTO tenant, name, token, scope, problem, max_requests, wait
    FROM tenants t WHERE t.tenant = known.tenant;
    IF known.revoked_at IS NOT NULL THEN
        problem := 'revoked';
    ELSIF known.expires_at <= clock_timestamp() THEN
        problem := 'expired';
    ELSIF max_requests IS NOT NULL THEN
        INSERT INTO requests AS r (tenant, minute, count) VALUES (known.tenant, this_minute, 1)
        ON CONFLICT (tenant) DO UPDATE
        SET minute = this_minute, count = CASE WHEN r.minute = this_minute THEN r.count + 1 ELSE 1 END
        RETURNING r.count INTO used;
        IF used > max_requests THEN
            problem := 'busy';
            wait := 1 + floor(60 * (this_minute + 1) - extract(epoch FROM clock_timestamp()));
        END IF;
    END IF;
    RETURN NEXT;
END $$;

-- Give a role what a server needs, and no more: it owns nothing, and cannot read tokens or the audit trail.
CREATE FUNCTION grant_application(role_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    schema text;
BEGIN
    FOREACH schema IN ARRAY ARRAY['muisti', 'muisti_tenant'] LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', schema, role_name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO %I', schema, role_name);
        -- For the tables of models that are used later.
        EXECUTE format(
            'ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I',
            schema, role_name);
    END LOOP;
    EXECUTE format('GRANT USAGE ON SEQUENCE muisti.revisions TO %I', role_name);
    EXECUTE format('REVOKE ALL ON muisti.tokens, muisti.audit, muisti.requests, muisti_tenant.tokens, '
        'muisti_tenant.requests FROM %I', role_name);
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON muisti.migrations, muisti.models, muisti.tenants, muisti.stored, '
        'muisti_tenant.tenants, muisti_tenant.stored FROM %I', role_name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION muisti.admit, muisti.create_vector_table TO %I', role_name);
END $$;
REVOKE EXECUTE ON FUNCTION admit, create_tenant_view, protect_tables, unprotect_tables, grant_application FROM PUBLIC;

SELECT protect_tables();

-- Roles that could use the tables before can use them still.
DO $$
DECLARE
    used record;
BEGIN
    FOR used IN
        SELECT r.rolname, bool_or(a.privilege_type = 'INSERT') AS writes
        FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = 'muisti.memories'::regclass AND r.oid <> c.relowner AND a.privilege_type IN ('SELECT', 'INSERT')
        GROUP BY 1
    LOOP
        EXECUTE format('GRANT SELECT ON muisti.tenants, muisti.stored TO %I', used.rolname);
        IF used.writes THEN
            PERFORM grant_application(used.rolname);
        END IF;
    END LOOP;
END $$;
