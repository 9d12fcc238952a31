-- Devices are found by more than their name: by tag, user and state, for lists, audiences and the erasure of a person.
-- Tags get a table of their own, since an array can't be walked in the order of ids. The array stays what a device
-- shows, and triggers keep the table true to it, because programs before this one write nothing else. An index for each
-- filter would cost every registration: only users and tags get one, and what is not active, which is little. Lists of
-- everything go by the unique index of names, or by registrations_planning.
-- undone_at: an undo that comes twice has one effect. deleted_at: an app that is gone for callers, and whose rows are
-- still being taken away; its slug is nobody's then.
-- oldest program: 0001
CREATE TABLE registration_tags (
    app_id          bigint NOT NULL,
    tag             text   NOT NULL,
    registration_id bigint NOT NULL REFERENCES registrations ON DELETE CASCADE,
    PRIMARY KEY (registration_id, tag)
);

-- A mass of new rows in one statement; nothing is begun where none has a tag.
CREATE FUNCTION registration_tags_born() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM born WHERE cardinality(tags) > 0) THEN
        INSERT INTO registration_tags (app_id, tag, registration_id)
        SELECT born.app_id, said.tag, born.id FROM born CROSS JOIN LATERAL unnest(born.tags) AS said (tag)
        WHERE said.tag IS NOT NULL
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER registration_tags_born AFTER INSERT ON registrations REFERENCING NEW TABLE AS born
    FOR EACH STATEMENT EXECUTE FUNCTION registration_tags_born();

-- Row by row, for those alone whose tags change: old and new rows of a statement could only be matched by a join, whose
-- plan the settings of a batch would make a quadratic one. A plan made while the table was empty must not read it whole.
CREATE FUNCTION registration_tags_changed() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM registration_tags WHERE registration_id = NEW.id AND tag <> ALL (NEW.tags);
    INSERT INTO registration_tags (app_id, tag, registration_id)
    SELECT NEW.app_id, said.tag, NEW.id FROM unnest(NEW.tags) AS said (tag) WHERE said.tag IS NOT NULL
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER registration_tags_changed AFTER UPDATE OF tags ON registrations
    FOR EACH ROW WHEN (OLD.tags IS DISTINCT FROM NEW.tags) EXECUTE FUNCTION registration_tags_changed();

-- From here on nobody writes to registrations until the table is complete.
INSERT INTO registration_tags (app_id, tag, registration_id)
SELECT DISTINCT r.app_id, said.tag, r.id FROM registrations r CROSS JOIN LATERAL unnest(r.tags) AS said (tag)
WHERE said.tag IS NOT NULL;
CREATE INDEX registration_tags_by_tag ON registration_tags (app_id, tag, registration_id);

CREATE INDEX registrations_of_user ON registrations (app_id, user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX registrations_not_active ON registrations (app_id, state, id) WHERE state > 1;

ALTER TABLE feedback ADD COLUMN undone_at timestamptz;
-- History gets another name where a person is erased.
CREATE INDEX feedback_of_installation ON feedback (app_id, installation);

ALTER TABLE apps ADD COLUMN deleted_at timestamptz,
    DROP CONSTRAINT apps_slug_check,
    ADD CONSTRAINT apps_slug_check
        CHECK (CASE WHEN deleted_at IS NULL THEN slug ~ '^[a-z0-9][a-z0-9_-]{0,62}$' ELSE slug = '~' || id END);
CREATE INDEX apps_deleted ON apps (id) WHERE deleted_at IS NOT NULL;
