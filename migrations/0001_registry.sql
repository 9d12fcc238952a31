-- The registry: apps, their routes, and the token of each device.
--
-- registrations is wide and seldom changes. registration_pulse is narrow and changes at every app start and every
-- badge, so that these updates stay HOT and cheap.
--
-- Numbers in smallint columns are the raw values of the enums in Sources/Model.
--
-- With the server's own autovacuum settings a table waits until a fifth of its rows are dead: two million of a registry
-- of ten million. Each table that grows or turns over therefore has settings for its use. docs/operations.md describes
-- them for operators, and TableSettingsTests has a line for every table.

CREATE TABLE apps (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug        text        NOT NULL UNIQUE,
    name        text        NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 256),
    settings    jsonb       NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A deleted app is gone for callers while its rows are still being removed. Its slug is free again.
    deleted_at  timestamptz,
    -- Until then a deleted app keeps its credentials, for the notices to devices that subscribed to its data tree. null:
    -- there are none.
    closing_until timestamptz,
    CONSTRAINT apps_slug_check
        CHECK (CASE WHEN deleted_at IS NULL THEN slug ~ '^[a-z0-9][a-z0-9_-]{0,62}$' ELSE slug = '~' || id END)
);
CREATE INDEX apps_deleted ON apps (id) WHERE deleted_at IS NOT NULL;

-- The route over which a registration's pushes leave. A topic of '' means the only topic of the credential.
--
-- Every route of APNs has a sibling route, the same topic in the other environment. A token that its own environment
-- does not know is tried there once (decision 0016). Triggers create the sibling routes.
CREATE TABLE routes (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id      bigint   NOT NULL REFERENCES apps ON DELETE CASCADE,
    provider    smallint NOT NULL,
    environment smallint NOT NULL,
    topic       text     NOT NULL DEFAULT '' CHECK (octet_length(topic) <= 255),
    -- Counts the routes of the app. An app names its topics itself, and every process walks all routes at every poll:
    -- without a bound one app could delay the deliveries of all. Sibling routes that the app did not name have 0.
    number      integer  NOT NULL DEFAULT 1,
    CONSTRAINT routes_per_app CHECK (number BETWEEN 0 AND 1000),
    UNIQUE (app_id, provider, environment, topic),
    -- Registrations and parcels repeat the app (and provider) of their route; their references point at these keys.
    UNIQUE (id, app_id, provider),
    UNIQUE (id, app_id)
);

-- APNs has two environments: 1 production, 2 sandbox.
CREATE FUNCTION sibling_environment(environment smallint) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE environment WHEN 1 THEN 2::smallint WHEN 2 THEN 1::smallint END
$$;

-- Two routes of one app that are inserted at once, each the other's sibling, would wait for each other.
CREATE FUNCTION routes_lock_app() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM apps WHERE id = NEW.app_id FOR NO KEY UPDATE;
    RETURN NEW;
END $$;
CREATE TRIGGER routes_lock_app BEFORE INSERT ON routes
    FOR EACH ROW WHEN (NEW.provider = 1 /* apns */) EXECUTE FUNCTION routes_lock_app();

-- Queries before it writes, because a conflict would cost an id.
CREATE FUNCTION routes_add_sibling() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO routes (app_id, provider, environment, topic, number)
    SELECT NEW.app_id, NEW.provider, sibling_environment(NEW.environment), NEW.topic, 0
    WHERE NOT EXISTS (
        SELECT FROM routes WHERE app_id = NEW.app_id AND provider = NEW.provider
            AND environment = sibling_environment(NEW.environment) AND topic = NEW.topic)
    ON CONFLICT (app_id, provider, environment, topic) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER routes_add_sibling AFTER INSERT ON routes
    FOR EACH ROW WHEN (NEW.provider = 1 /* apns */) EXECUTE FUNCTION routes_add_sibling();

-- Removing a device removes its rows.
--
-- Triggers below check the route. A foreign key checks each row by itself, with a statement and a lock of the same
-- route each time. The key took a sixth of PostgreSQL's work for a new registration.
CREATE TABLE registrations (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id       bigint      NOT NULL,
    route_id     bigint      NOT NULL,
    provider     smallint    NOT NULL,
    kind         smallint    NOT NULL,
    state        smallint    NOT NULL DEFAULT 1 CHECK (state IN (1, 2, 3)), -- 1 active, 2 suspected, 3 retired
    -- false: only users' tokens have registered it. It is then in no broadcast, and is forgotten with its last
    -- subscription to items.
    is_backends  boolean     NOT NULL DEFAULT true,
    generation   integer     NOT NULL DEFAULT 1 CHECK (generation > 0),
    installation text        NOT NULL CHECK (octet_length(installation) BETWEEN 1 AND 256),
    token        bytea       NOT NULL CHECK (octet_length(token) BETWEEN 1 AND 4096),
    user_id      text        CHECK (octet_length(user_id) <= 256),
    locale       text        CHECK (octet_length(locale) <= 64),
    time_zone    text        CHECK (octet_length(time_zone) <= 64),
    app_version  text        CHECK (octet_length(app_version) <= 64),
    tags         text[]      NOT NULL DEFAULT '{}',
    attributes   jsonb       NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(attributes) = 'object'),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The generation of the token that was tried in both environments. It is not tried again.
    environments_compared integer,
    -- The route that the app named, if that attempt found the token in the other environment. Both columns mean nothing
    -- for another generation. There is no foreign key, because routes are deleted only with their app.
    mistaken_route_id     bigint,
    UNIQUE (app_id, installation, kind)
) WITH (
    -- A tenth of each page stays free. A new app version or locale is then written into the page of the old row, and
    -- changes no index.
    fillfactor = 90,
    -- A vacuum runs after one dead row in fifty, because it reads all indexes whatever it finds. It runs earlier after
    -- new rows. Planners read registrations_planning by index only, and visit a page unless a vacuum marked it
    -- all-visible.
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
-- One token never belongs to two live registrations of one app. Hashed, because a token may be longer than an index row.
CREATE UNIQUE INDEX registrations_live_token ON registrations (app_id, provider, sha256(token))
    WHERE state < 3; -- 3 retired
-- The planner walks an app's live registrations in id order.
CREATE INDEX registrations_planning ON registrations (app_id, kind, id) INCLUDE (route_id, is_backends)
    WHERE state < 3; -- 3 retired
-- Devices are also found by user, tag and state. An index for each filter would cost every registration. Only users and
-- tags have one, and the few registrations that are not active.
CREATE INDEX registrations_of_user ON registrations (app_id, user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX registrations_not_active ON registrations (app_id, state, id) WHERE state > 1; -- 1 active
-- Each lease asks which of its members were tried in both environments: hardly any. In the row, that column follows all
-- that a device reports of itself, which would have to be decoded for each member of each broadcast.
CREATE INDEX registrations_compared ON registrations (id) WHERE environments_compared = generation;

-- No other index may ever be added here. as_of is the time at which the backend learned the registration's values; an
-- older registration is stale. raised is the part of the badge that messages added since it was last set: a push
-- that was surely not shown takes its increment back from there. badge_set is the number of that last set. There is no
-- foreign key: the trigger registrations_deleted deletes these rows, for a whole statement at once.
CREATE TABLE registration_pulse (
    registration_id bigint      PRIMARY KEY,
    badge           integer     NOT NULL DEFAULT 0 CHECK (badge >= 0),
    raised          integer     NOT NULL DEFAULT 0 CHECK (raised BETWEEN 0 AND badge),
    badge_set       bigint      NOT NULL DEFAULT 0,
    registered_at   timestamptz NOT NULL,
    as_of           timestamptz
) WITH (
    -- Half of each page is free. An update removes the dead rows of earlier ones from its page, so updates need no
    -- vacuum, which would read the whole table for nothing after each broadcast. Only deleted devices remain for it.
    fillfactor = 50, autovacuum_vacuum_scale_factor = 2, autovacuum_analyze_scale_factor = 20);

-- The numbers of sets of badges, over all devices (decision 0073). A set draws its number while it holds the row, so it
-- is higher than any number that a lease read before. The steps leave room for the parcels of one lease, which has one
-- number for all of them. CACHE must stay 1: sessions with numbers in stock would draw them in another order.
CREATE SEQUENCE badge_sets INCREMENT BY 65536 START WITH 65536 CACHE 1 OWNED BY registration_pulse.badge_set;

-- The tags of registrations once more, because an array cannot be walked in the order of ids. The API shows the array;
-- triggers keep this table equal to it.
CREATE TABLE registration_tags (
    app_id          bigint NOT NULL,
    tag             text   NOT NULL,
    registration_id bigint NOT NULL,
    PRIMARY KEY (registration_id, tag)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX registration_tags_by_tag ON registration_tags (app_id, tag, registration_id);

-- For new registrations. Their routes are locked until the transaction ends, and their tags are copied. Rows without
-- tags cost no copy. A tag may occur in an array twice.
CREATE FUNCTION registrations_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT route_id, app_id, provider FROM inserted) AS named
        WHERE (SELECT id FROM routes WHERE id = named.route_id AND app_id = named.app_id AND provider = named.provider
            FOR KEY SHARE) IS NULL
    ) THEN
        RAISE foreign_key_violation USING MESSAGE = 'a new registration names a route that its app does not have',
            SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = 'registrations_route_id_app_id_provider_fkey';
    END IF;
    IF EXISTS (SELECT FROM inserted WHERE cardinality(tags) > 0) THEN
        INSERT INTO registration_tags (app_id, tag, registration_id)
        SELECT DISTINCT inserted.app_id, each.tag, inserted.id
        FROM inserted CROSS JOIN LATERAL unnest(inserted.tags) AS each (tag) WHERE each.tag IS NOT NULL;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER registrations_inserted AFTER INSERT ON registrations REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION registrations_inserted();

-- Few registrations get another route, so this function checks row by row.
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

-- This runs row by row, and only for rows whose tags change. The old and new rows of a statement could only be matched
-- by a join, and with a batch's settings its plan would be quadratic. Plans are made once, maybe while the table is
-- empty, so they must not read the whole table. The same is true of the next two functions.
CREATE FUNCTION registration_tags_changed() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM registration_tags WHERE registration_id = NEW.id AND tag <> ALL (NEW.tags);
    INSERT INTO registration_tags (app_id, tag, registration_id)
    SELECT NEW.app_id, each.tag, NEW.id FROM unnest(NEW.tags) AS each (tag) WHERE each.tag IS NOT NULL
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER registration_tags_changed AFTER UPDATE OF tags ON registrations
    FOR EACH ROW WHEN (OLD.tags IS DISTINCT FROM NEW.tags) EXECUTE FUNCTION registration_tags_changed();

-- Badges are locked in the order of ids, as in every other statement.
CREATE FUNCTION registrations_deleted() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    ids CONSTANT bigint[] := ARRAY(SELECT id FROM deleted ORDER BY id);
BEGIN
    IF cardinality(ids) > 0 THEN
        DELETE FROM registration_pulse WHERE registration_id = ANY (ids);
        DELETE FROM registration_tags WHERE registration_id = ANY (ids);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER registrations_deleted AFTER DELETE ON registrations REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION registrations_deleted();

-- The function deletes by app, which has an index while a route has none, and each app once.
CREATE FUNCTION routes_deleted() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (SELECT FROM deleted) THEN
        DELETE FROM registrations
        WHERE app_id = ANY (ARRAY(SELECT DISTINCT app_id FROM deleted)) AND route_id = ANY (ARRAY(SELECT id FROM deleted));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER routes_deleted AFTER DELETE ON routes REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION routes_deleted();
