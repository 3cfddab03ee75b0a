-- A server of all tenants works for them in the background. Its role sees the rows of one tenant at a time, so these functions
-- tell it which tenants there are, or have something to do, and whether a token that it was given is still valid.

CREATE FUNCTION find_tenants(with_work boolean, maintenance_every double precision) RETURNS SETOF integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = muisti, pg_temp AS $$
DECLARE
    before text := coalesce(current_setting('muisti.tenant', true), '');
    numbers integer[];
    number integer;
BEGIN
    PERFORM set_config('muisti.admin', 'on', true);
    SELECT array_agg(t.tenant ORDER BY t.tenant) INTO numbers FROM tenants t;
    PERFORM set_config('muisti.admin', '', true);
    FOREACH number IN ARRAY coalesce(numbers, '{}') LOOP
        PERFORM set_config('muisti.tenant', number::text, true);
        IF NOT with_work
            OR EXISTS (SELECT 1 FROM queue q WHERE q.tenant = number AND q.claimed_until <= now() AND q.attempts < 5)
            OR EXISTS (SELECT 1 FROM unembedded u WHERE u.tenant = number AND u.claimed_until <= now() AND u.attempts < 5)
            OR maintenance_every IS NOT NULL AND NOT EXISTS (SELECT 1 FROM maintenance m WHERE m.tenant = number AND (m.claimed_until > now()
                OR m.complete AND m.started_at > now() - make_interval(secs => maintenance_every)))
        THEN
            RETURN NEXT number;
        END IF;
    END LOOP;
    PERFORM set_config('muisti.tenant', before, true);
END $$;
REVOKE EXECUTE ON FUNCTION find_tenants FROM PUBLIC;

-- As admit, but the request is not counted. Without the hash of a token it tells nothing.
CREATE FUNCTION is_admitted(a_hash bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = muisti, pg_temp AS $$
DECLARE
    valid boolean;
BEGIN
    PERFORM set_config('muisti.token', encode(a_hash, 'hex'), true);
    SELECT t.revoked_at IS NULL AND coalesce(t.expires_at > clock_timestamp(), true) INTO valid
    FROM tokens t WHERE t.hash = a_hash;
    PERFORM set_config('muisti.token', '', true);
    RETURN coalesce(valid, false);
END $$;
REVOKE EXECUTE ON FUNCTION is_admitted FROM PUBLIC;

ALTER FUNCTION grant_application(text) RENAME TO grant_tables;
CREATE FUNCTION grant_application(role_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM muisti.grant_tables(role_name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION muisti.find_tenants, muisti.is_admitted TO %I', role_name);
END $$;
REVOKE EXECUTE ON FUNCTION grant_application FROM PUBLIC;

DO $$
DECLARE
    used record;
BEGIN
    FOR used IN
        SELECT DISTINCT r.rolname
        FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = 'muisti.memories'::regclass AND r.oid <> c.relowner AND a.privilege_type = 'INSERT'
    LOOP
        PERFORM grant_application(used.rolname);
    END LOOP;
END $$;
