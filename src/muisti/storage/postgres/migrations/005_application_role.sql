-- A role that serves also takes numbers from sequences, and those of the tables of later models.
CREATE OR REPLACE FUNCTION grant_application(role_name text) RETURNS void LANGUAGE plpgsql AS $$
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
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA muisti TO %I', role_name);
    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA muisti GRANT USAGE ON SEQUENCES TO %I', role_name);
    EXECUTE format('REVOKE ALL ON SEQUENCE muisti.tenant_numbers, muisti.audit_n_seq FROM %I', role_name);
    EXECUTE format('REVOKE ALL ON muisti.tokens, muisti.audit, muisti.requests, muisti_tenant.tokens, '
        'muisti_tenant.requests FROM %I', role_name);
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON muisti.migrations, muisti.models, muisti.tenants, muisti.stored, '
        'muisti_tenant.tenants, muisti_tenant.stored FROM %I', role_name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION muisti.admit, muisti.create_vector_table TO %I', role_name);
END $$;

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

-- What waits for extraction is written beside other writers, which must not wait for the row of its count. It is bounded by
-- the setting extract_queue.
DROP TRIGGER count_added ON queue;
DROP TRIGGER count_removed ON queue;
DROP TRIGGER count_changed ON queue;
DROP FUNCTION count_queue;
UPDATE stored s SET bytes = s.bytes - waiting.bytes
FROM (SELECT tenant, sum(octet_length(exchange)) AS bytes FROM queue GROUP BY tenant) waiting WHERE waiting.tenant = s.tenant;
