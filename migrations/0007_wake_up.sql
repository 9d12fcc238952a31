-- Wake-up: each app's data tree, the paths that apps on devices watch, and their subscriptions.
--
-- A write raises the sequence number of each watch at or above a leaf that it changes, and leaves one row in
-- due_watches. Its cost does not depend on the number of subscriptions. A fan-out reads the watch once and cuts
-- messages for its subscriptions (decision 0046).
--
-- No foreign keys refer to apps, watches or registrations, because a key checks each row by itself. Removing an app
-- deletes these rows by key, and removing registrations deletes their subscriptions by a trigger.

-- A leaf of an app's tree: a string, a number, a boolean, or an array as one value. An object is the leaves below its
-- path, which are one range of the key: path > p || '/' AND path < p || '0'. An object without leaves, and null, are
-- absence. value is compact JSON as it was written, not jsonb, which would turn 1.0e0 into 1.0.
CREATE TABLE nodes (
    app_id bigint NOT NULL,
    path   text COLLATE "C" NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 2048),
    value  text NOT NULL CHECK (octet_length(value) <= 65536),
    PRIMARY KEY (app_id, path)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);

-- Returns the number of characters with which both texts begin. It is small most often, so the search begins there.
CREATE FUNCTION common_length(one text, other text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    low    integer := 0;
    high   integer := least(length(one), length(other));
    middle integer := 1;
BEGIN
    WHILE low < high LOOP
        IF left(one, middle) = left(other, middle) COLLATE "C" THEN
            low := middle;
        ELSE
            high := middle - 1;
        END IF;
        middle := least(2 * low + 1, (low + high + 1) / 2);
    END LOOP;
    RETURN low;
END $$;

-- Returns the keys of a node's children behind a key, by rising bytes. The index can't give that order: a! lies between
-- the value a and the leaves of the object a. So the function jumps from child to child, and passes over an object whose
-- key is a beginning of the last one. No key has the byte 1, and 0 follows the slash.
--
-- An object whose key is a beginning of the next key comes before it, but its leaves lie behind. A character below the
-- slash follows such a beginning. The leaves of shorter ones lie further behind, so the function asks from the longest
-- one on. The leaf that it finds rules out all beginnings that are longer than the part that both share. Each look-up
-- thus finds an object, or a key that a later step returns: a page costs some look-ups for each key, not one for each
-- character. A plan made anew for each look-up would cost more than the look-up itself.
CREATE FUNCTION node_keys(app bigint, prefix text, prefix_end text, after_key text, keys_max bigint) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off
    SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    last   text COLLATE "C" := after_key;
    start  text COLLATE "C" := prefix || after_key || chr(1);
    found  text COLLATE "C";
    key    text COLLATE "C";
    keys   text[];
    short  text COLLATE "C";
    place  integer;
    object text COLLATE "C";
    beyond text COLLATE "C";
BEGIN
    WHILE keys_max > 0 LOOP
        SELECT n.path INTO found FROM nodes n
        WHERE n.app_id = app AND n.path >= start AND n.path < prefix_end COLLATE "C" ORDER BY n.app_id, n.path LIMIT 1;
        EXIT WHEN found IS NULL;
        key := split_part(substr(found, length(prefix) + 1), '/', 1);
        IF key <= last THEN
            start := prefix || key || '0';
            CONTINUE;
        END IF;
        keys := ARRAY[key];
        place := length(key) - 1;
        beyond := '';
        LOOP
            -- The longest beginning of at most so many characters that one below the slash follows.
            short := substring(left(key, place + 1) FROM '^(.*)[ -.]');
            EXIT WHEN short IS NULL OR short <= last;
            object := prefix || short || '/';
            IF beyond < object THEN
                SELECT n.path INTO beyond FROM nodes n
                WHERE n.app_id = app AND n.path >= object AND n.path < prefix_end COLLATE "C"
                ORDER BY n.app_id, n.path LIMIT 1;
                EXIT WHEN beyond IS NULL;
            END IF;
            place := length(short) - 1;
            IF starts_with(beyond, object) THEN
                keys := short || keys;
            ELSE
                place := least(place, common_length(key, substr(beyond, length(prefix) + 1)));
            END IF;
        END LOOP;
        FOREACH key IN ARRAY keys LOOP
            EXIT WHEN keys_max = 0;
            RETURN NEXT key;
            keys_max := keys_max - 1;
        END LOOP;
        last := key;
        start := prefix || key || chr(1);
    END LOOP;
END $$;

-- Nodes that are too large for one write, and that are being removed in portions. What is written below one meanwhile
-- goes too. A write that replaces all of the node ends its row.
CREATE TABLE node_removals (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    path   text COLLATE "C" NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 2048),
    due_at timestamptz NOT NULL,
    UNIQUE (app_id, path)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);
CREATE INDEX node_removals_due ON node_removals (due_at, id);

-- A path with subscriptions. seq counts the writes that changed data at or below it. cut_at is when its
-- subscriptions were last woken. overflow_seq: which children changed up to there is not known one by one any more.
-- moves counts how often subscriptions moved to another registration, or came back with their token: such a one is notified
-- once more, also if a fan-out had just read it. wants_value and wants_children: a subscription asks for the data of the node, or for the
-- children that changed. weight_bytes and weight_leaves are those of the leaves at and below the path.
CREATE TABLE watches (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id         bigint  NOT NULL,
    path           text COLLATE "C" NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 2048),
    seq            bigint  NOT NULL DEFAULT 0,
    cut_at         timestamptz,
    overflow_seq   bigint  NOT NULL DEFAULT 0,
    moves          bigint  NOT NULL DEFAULT 0,
    wants_value    boolean NOT NULL DEFAULT false,
    wants_children boolean NOT NULL DEFAULT false,
    weight_bytes   bigint  NOT NULL CHECK (weight_bytes >= 0),
    weight_leaves  bigint  NOT NULL CHECK (weight_leaves >= 0),
    -- No other index may be added here: every write below a path changes its row, within its page.
    UNIQUE (app_id, path)
) WITH (
    fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    vacuum_index_cleanup = on);

-- The children of a watched node whose data changed, by the number of the write. existed: the child had data before.
CREATE TABLE watch_changes (
    watch_id bigint  NOT NULL,
    seq      bigint  NOT NULL,
    child    text COLLATE "C" NOT NULL,
    existed  boolean NOT NULL,
    PRIMARY KEY (watch_id, seq, child)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);

-- Watches with changes that were not reported to all their subscriptions: the queue of the fan-out. tries counts the rounds
-- that found nothing to cut, and spaces the next ones. after_registration is the cursor of a round through more subscriptions
-- than one transaction cuts; round_seq is the watch's number when the round began, and skipped: an earlier slice of the
-- round skipped some subscriptions. soonest_at: a change brings the row forward to then. Due since the epoch: the
-- watch has lost its last subscription, and is to be removed.
CREATE TABLE due_watches (
    watch_id           bigint      PRIMARY KEY,
    app_id             bigint      NOT NULL,
    due_at             timestamptz NOT NULL,
    tries              smallint    NOT NULL DEFAULT 0,
    round_seq          bigint,
    after_registration bigint      NOT NULL DEFAULT 0,
    skipped            boolean     NOT NULL DEFAULT false,
    soonest_at         timestamptz
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off);
CREATE INDEX due_watches_of_apps ON due_watches (app_id, due_at, watch_id);
CREATE INDEX due_watches_next ON due_watches (due_at);

-- A registration's interest in a watch. version: 1, the described service's first interface; its subscriptions are one
-- for each path and device. mode: 1 noData, 2 value, 3 childEvent. user_id and claims are those of the user's token
-- with which it was made; '' and null: nobody's. claims has those that the rules named then, null where the token had
-- none. has_all_claims: claims has all that the token had.
CREATE TABLE subscriptions (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id          bigint      NOT NULL,
    watch_id        bigint      NOT NULL,
    registration_id bigint      NOT NULL,
    version         smallint    NOT NULL CHECK (version = 1),
    mode            smallint    NOT NULL CHECK (mode BETWEEN 1 AND 3), -- as above
    has_all_claims  boolean     NOT NULL DEFAULT false,
    user_id         text        NOT NULL DEFAULT '' CHECK (octet_length(user_id) <= 256),
    claims          jsonb       CHECK (octet_length(claims::text) <= 8192),
    expires_at      timestamptz NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX subscriptions_of_device ON subscriptions (watch_id, registration_id) WHERE version = 1;
-- A fan-out walks a watch's subscriptions in the order of registrations, which is that of a parcel's members.
CREATE INDEX subscriptions_of_watch ON subscriptions (watch_id, registration_id, id);
CREATE INDEX subscriptions_of_registration ON subscriptions (registration_id, id);
CREATE INDEX subscriptions_expiring ON subscriptions (expires_at, id);
CREATE INDEX subscriptions_of_app ON subscriptions (app_id, id);
CREATE INDEX subscriptions_of_user ON subscriptions (app_id, user_id, id) WHERE user_id <> '';

-- The last wake-up of a subscription. sent_seq is the watch's number whose changes it has reported. message_id is the
-- message; null: none yet. Whether its push has ended is read from the message's parcels and stored nowhere. Narrow,
-- because each wake-up changes its row: no index may be added here.
CREATE TABLE subscription_progress (
    subscription_id bigint PRIMARY KEY,
    sent_seq        bigint  NOT NULL,
    message_id      uuid
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 2, autovacuum_analyze_scale_factor = 20);

-- Registrations that only subscriptions had made, and that lost one at that time. Those that have none any more are
-- removed some days later, because notices may be under way to them.
CREATE TABLE idle_subscribers (
    registration_id bigint PRIMARY KEY,
    since           timestamptz NOT NULL DEFAULT now()
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
CREATE INDEX idle_subscribers_since ON idle_subscribers (since, registration_id);

-- Registrations that only subscriptions had made, and whose tokens have taken no push since then. blamed_at is the first
-- answer that blamed the token: the second one retires it.
CREATE TABLE unproven_subscribers (
    registration_id bigint PRIMARY KEY,
    app_id          bigint      NOT NULL,
    since           timestamptz NOT NULL,
    blamed_at       timestamptz
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
CREATE INDEX unproven_subscribers_of_apps ON unproven_subscribers (app_id, since, registration_id);

CREATE FUNCTION subscriptions_deleted() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    DELETE FROM subscription_progress WHERE subscription_id = ANY (ARRAY(SELECT id FROM deleted ORDER BY id));
    INSERT INTO idle_subscribers (registration_id)
    SELECT id FROM registrations
    WHERE id = ANY (ARRAY(SELECT registration_id FROM deleted)) AND kind = 12 -- wakeup
    ORDER BY id
    ON CONFLICT (registration_id) DO UPDATE SET since = excluded.since;
    -- A fan-out removes a watch without subscriptions.
    INSERT INTO due_watches (watch_id, app_id, due_at)
    SELECT w.id, w.app_id, 'epoch' FROM watches w
    WHERE w.id = ANY (ARRAY(SELECT DISTINCT watch_id FROM deleted))
        AND NOT EXISTS (SELECT FROM subscriptions WHERE watch_id = w.id)
    ORDER BY w.id
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER subscriptions_deleted AFTER DELETE ON subscriptions REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION subscriptions_deleted();

-- A removed device takes its subscriptions with it, and notifies nobody.
CREATE FUNCTION registrations_unsubscribed() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    DELETE FROM subscriptions WHERE registration_id = ANY (ARRAY(SELECT id FROM deleted ORDER BY id));
    DELETE FROM unproven_subscribers WHERE registration_id = ANY (ARRAY(SELECT id FROM deleted ORDER BY id));
    DELETE FROM former_users WHERE registration_id = ANY (ARRAY(SELECT id FROM deleted ORDER BY id));
    RETURN NULL;
END $$;
CREATE TRIGGER registrations_unsubscribed AFTER DELETE ON registrations REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION registrations_unsubscribed();

-- Subscriptions that ended in a statement about their registration, whose devices still need the notice that permission was
-- denied. slug and path are those of the notices: the app may be deleted and the watch removed meanwhile.
CREATE TABLE ended_subscriptions (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id          bigint NOT NULL,
    slug            text   NOT NULL,
    watch_id        bigint NOT NULL,
    path            text   NOT NULL,
    registration_id bigint NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);
CREATE INDEX ended_subscriptions_of_apps ON ended_subscriptions (app_id, id);

-- Registered users who had a device before its user changed. A token whose sub is one of them subscribes the device
-- only once it is registered for that user again (decision 0074).
CREATE TABLE former_users (
    registration_id bigint NOT NULL,
    user_id         text   NOT NULL CHECK (octet_length(user_id) <= 256),
    app_id          bigint NOT NULL,
    PRIMARY KEY (registration_id, user_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX former_users_by_user ON former_users (app_id, user_id, registration_id);

-- Ends the subscriptions of a registration that tokens of other users made, where its user changes: what those may read
-- is not for the device's next user (decision 0053). Those of the device's former users end in any case. holder: the
-- registration that has the device's token now. former_user, next_user: null: there is none.
CREATE FUNCTION end_subscriptions_of_others(registration bigint, holder bigint, former_user text, next_user text)
    RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    changes CONSTANT boolean := former_user IS NOT NULL AND former_user IS DISTINCT FROM next_user;
BEGIN
    IF changes THEN
        INSERT INTO former_users (registration_id, user_id, app_id)
        SELECT holder, former_user, a.id
        FROM (SELECT app_id FROM registrations WHERE id = holder LIMIT 1) AS r
        CROSS JOIN LATERAL (SELECT id, settings FROM apps WHERE id = r.app_id LIMIT 1) AS a
        WHERE (a.settings -> 'wakeup' ->> 'enabled')::boolean
        ON CONFLICT DO NOTHING;
    END IF;
    IF registration <> holder THEN
        INSERT INTO former_users (registration_id, user_id, app_id)
        SELECT holder, f.user_id, f.app_id FROM former_users f WHERE f.registration_id = registration
        ON CONFLICT DO NOTHING;
    END IF;
    WITH ended AS (
        DELETE FROM subscriptions s
        WHERE s.registration_id = registration AND (s.claims IS NOT NULL OR s.user_id <> '')
            AND s.user_id IS DISTINCT FROM next_user
            AND (changes OR EXISTS (
                SELECT FROM former_users f WHERE f.registration_id = holder AND f.user_id = s.user_id))
        RETURNING s.id, s.app_id, s.watch_id
    )
    INSERT INTO ended_subscriptions (app_id, slug, watch_id, path, registration_id)
    SELECT e.app_id, a.slug, e.watch_id, w.path, holder FROM ended e
    CROSS JOIN LATERAL (SELECT slug FROM apps WHERE id = e.app_id LIMIT 1) AS a
    CROSS JOIN LATERAL (SELECT path FROM watches WHERE id = e.watch_id LIMIT 1) AS w
    ORDER BY e.id;
END $$;

-- This runs row by row, and only for rows whose user changes, whatever the statement is about.
CREATE FUNCTION registration_changed_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM end_subscriptions_of_others(NEW.id, NEW.id, OLD.user_id, NEW.user_id);
    RETURN NULL;
END $$;
CREATE TRIGGER registration_changed_user AFTER UPDATE OF user_id ON registrations
    FOR EACH ROW WHEN (OLD.user_id IS NOT NULL AND OLD.user_id IS DISTINCT FROM NEW.user_id)
    EXECUTE FUNCTION registration_changed_user();

-- Who may read which node. source is the JSON as it was given; revision rises with each change.
CREATE TABLE node_rules (
    app_id   bigint  PRIMARY KEY REFERENCES apps ON DELETE CASCADE,
    source   text    NOT NULL CHECK (octet_length(source) <= 65536),
    revision bigint  NOT NULL DEFAULT 1
);

-- The keys that verify tokens of an app's users. sealed is the key as it was given.
CREATE TABLE user_token_keys (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id     bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    kid        text        NOT NULL CHECK (octet_length(kid) BETWEEN 1 AND 128),
    algorithm  text        NOT NULL CHECK (algorithm IN ('HS256', 'RS256', 'ES256')),
    sealed     bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT user_token_keys_kid UNIQUE (app_id, kid)
);

-- A watch that is removed takes its changes with it.
CREATE FUNCTION watches_deleted() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    DELETE FROM due_watches WHERE watch_id = ANY (ARRAY(SELECT id FROM deleted ORDER BY id));
    DELETE FROM watch_changes WHERE watch_id = ANY (ARRAY(SELECT id FROM deleted ORDER BY id));
    RETURN NULL;
END $$;
CREATE TRIGGER watches_deleted AFTER DELETE ON watches REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION watches_deleted();

-- Subscriptions that are to be ended, with a notice to each device: all of an app, or of a watch. reason: 1 the read
-- rules forbid it, 2 the app was deleted, 3 wake-up was switched off, 5 the node is too heavy. For the first reason each
-- subscription is asked about. slug is the app's name in the notices, since a deleted app has none any more. The job
-- concerns subscriptions up to through_id, and has passed those up to after_id.
--
-- kind: 1 a job as above; 2 an operator's order, which asks about none, for subscriptions of a state: 1 active, 2 dormant,
-- 3 expired, null any; after_id is a registration where it has a watch; 3 the app has too many subscriptions: those of
-- tokens that are unproven for long end as expired (reason 4), ends_at_most of them.
CREATE TABLE revocations (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id     bigint      NOT NULL,
    watch_id   bigint,
    reason     smallint    NOT NULL CHECK (reason BETWEEN 1 AND 5), -- as above
    slug       text        NOT NULL,
    through_id bigint      NOT NULL,
    after_id   bigint      NOT NULL DEFAULT 0,
    kind       smallint    NOT NULL DEFAULT 1 CHECK (kind IN (1, 2, 3)), -- as above
    state      smallint    CHECK (state IN (1, 2, 3)), -- as above
    ends_at_most bigint,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (state IS NULL OR kind = 2), CHECK ((ends_at_most IS NULL) = (kind <> 3))
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);
CREATE INDEX revocations_of_apps ON revocations (app_id, id);

-- The pushes of the gateway's own messages that ended, by day. The messages are removed after some days, and their
-- counts stay as long as their app.
CREATE TABLE wake_days (
    app_id       bigint   NOT NULL REFERENCES apps ON DELETE CASCADE,
    day          date     NOT NULL,
    origin       smallint NOT NULL,
    accepted     bigint   NOT NULL,
    rejected     bigint   NOT NULL,
    unregistered bigint   NOT NULL,
    expired      bigint   NOT NULL,
    suppressed   bigint   NOT NULL,
    cancelled    bigint   NOT NULL,
    gave_up      bigint   NOT NULL,
    PRIMARY KEY (app_id, day, origin)
);
