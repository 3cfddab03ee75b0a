-- The tenant is read once in a statement, not for each row: the planner runs a subquery that depends on no row once. In a
-- scan of all vectors of a tenant, reading it took most of the time.
CREATE OR REPLACE FUNCTION create_tenant_view(name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    condition text := 'tenant = (SELECT nullif(current_setting(''muisti.tenant'', true), '''')::integer)';
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

-- Searches need the number of words in the body of a text: each counted them.
ALTER TABLE words ADD body_length integer NOT NULL
    GENERATED ALWAYS AS (cardinality(string_to_array(body, ' '))) STORED;

SELECT protect_tables();
