-- What belongs to a registration goes with it by one trigger for a whole statement, and no longer by foreign keys.
-- oldest program: 0001
--
-- A foreign key is asked for each row by itself. Those of the badge and the tags took a fourth of what PostgreSQL does
-- for a new registration: a statement each, and a lock of the registration that goes into the log, though the same
-- statement made it a moment before. And a broadcast looked at each badge's old row once more, only to see that it still
-- belongs to the same registration. Nothing gets into either table but beside its registration: the badge in the
-- statement that makes it, tags by the triggers of 0006, which hold its row.
-- A program before this one writes just so, and knows of neither key.
LOCK TABLE registrations, registration_pulse, registration_tags IN ACCESS EXCLUSIVE MODE;

ALTER TABLE registration_pulse DROP CONSTRAINT registration_pulse_registration_id_fkey;
ALTER TABLE registration_tags DROP CONSTRAINT registration_tags_registration_id_fkey;

-- By their keys and in the order of ids, as whoever else locks badges. The plan is made once, and may be made while a
-- table is empty: it must not read it whole.
CREATE FUNCTION registration_gone() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    ids CONSTANT bigint[] := ARRAY(SELECT id FROM gone ORDER BY id);
BEGIN
    IF cardinality(ids) > 0 THEN
        DELETE FROM registration_pulse WHERE registration_id = ANY (ids);
        DELETE FROM registration_tags WHERE registration_id = ANY (ids);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER registration_gone AFTER DELETE ON registrations REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION registration_gone();
