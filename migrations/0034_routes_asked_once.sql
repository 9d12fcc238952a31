-- Whether a new registration's route is there is asked once for a statement, and no longer row by row.
-- oldest program: 0001
--
-- A foreign key asks for each row by itself, with a statement and a lock of the same route each time: a sixth of what
-- PostgreSQL did for a new registration. The triggers here ask the same, lock the same, and answer with the same code and
-- name of a constraint, whichever program writes.
LOCK TABLE registrations, routes IN ACCESS EXCLUSIVE MODE;

ALTER TABLE registrations DROP CONSTRAINT registrations_route_id_app_id_provider_fkey;

DROP TRIGGER registration_tags_born ON registrations;
DROP FUNCTION registration_tags_born();

-- The routes stay until those who look for them are done. Tags: a row's own may be said twice; others it can't meet, since
-- its id is new, and what had it before has taken its tags along. Nothing is begun where none has a tag.
CREATE FUNCTION registrations_born() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT route_id, app_id, provider FROM born) AS said
        WHERE (SELECT id FROM routes WHERE id = said.route_id AND app_id = said.app_id AND provider = said.provider
            FOR KEY SHARE) IS NULL
    ) THEN
        RAISE foreign_key_violation USING MESSAGE = 'a new registration names a route that its app does not have',
            SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = 'registrations_route_id_app_id_provider_fkey';
    END IF;
    IF EXISTS (SELECT FROM born WHERE cardinality(tags) > 0) THEN
        INSERT INTO registration_tags (app_id, tag, registration_id)
        SELECT DISTINCT born.app_id, said.tag, born.id FROM born CROSS JOIN LATERAL unnest(born.tags) AS said (tag)
        WHERE said.tag IS NOT NULL;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER registrations_born AFTER INSERT ON registrations REFERENCING NEW TABLE AS born
    FOR EACH STATEMENT EXECUTE FUNCTION registrations_born();

-- Few registrations get another route.
CREATE FUNCTION registration_rerouted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM routes WHERE id = NEW.route_id AND app_id = NEW.app_id AND provider = NEW.provider FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = 'a registration names a route that its app does not have',
            SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = 'registrations_route_id_app_id_provider_fkey';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER registration_rerouted AFTER UPDATE OF route_id, app_id, provider ON registrations
    FOR EACH ROW WHEN (
        OLD.route_id <> NEW.route_id OR OLD.app_id <> NEW.app_id OR OLD.provider <> NEW.provider)
    EXECUTE FUNCTION registration_rerouted();

-- By the app, which has an index where a route has none, and each app once. The plan is made once, and may be made while
-- the table is empty: it must not read it whole.
CREATE FUNCTION routes_gone() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (SELECT FROM gone) THEN
        DELETE FROM registrations
        WHERE app_id = ANY (ARRAY(SELECT DISTINCT app_id FROM gone)) AND route_id = ANY (ARRAY(SELECT id FROM gone));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER routes_gone AFTER DELETE ON routes REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION routes_gone();
