-- Items: what an app's backend updates, the subscriptions of devices to them, and the pushes that these hold.
--
-- An update merges its fields into the item's row, and fires the triggers that it satisfies, in one transaction. Triggers
-- that compare one number with a fixed one are rows in the order of that bound, so an update finds exactly those that it
-- satisfies. Subscriptions without a trigger follow the item: an update makes it due, whatever their number, and a round
-- cuts their pushes.
--
-- No foreign keys refer to items, subscriptions or registrations, because a key checks each row by itself. Triggers
-- delete what belongs to them. Items, templates and producers are made seldom: they refer to their app.

-- An item, which its first update or subscription makes. seq counts its updates. A field is the name, the text (null: it
-- was removed) and the number of the last update that named it, at one place of the three arrays, by rising bytes of the
-- name.
CREATE TABLE items (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id      bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    name        text COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 768),
    seq         bigint      NOT NULL DEFAULT 0,
    field_names text[]      NOT NULL DEFAULT '{}',
    field_texts text[]      NOT NULL DEFAULT '{}',
    field_seqs  bigint[]    NOT NULL DEFAULT '{}',
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- No other index may be added here: every update changes the row, within its page.
    UNIQUE (app_id, name),
    CHECK (cardinality(field_names) = cardinality(field_texts) AND cardinality(field_names) = cardinality(field_seqs))
) WITH (
    fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    vacuum_index_cleanup = on,
    -- The fields of a large item are outside of its row, and each update writes them anew.
    toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_threshold = 5000);

-- The form of pushes. Subscriptions with the same form share a row. given is what the request named, which answers
-- show, and content the message with references to fields in its texts. sha256 is that of both.
CREATE TABLE push_templates (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id  bigint NOT NULL REFERENCES apps ON DELETE CASCADE,
    sha256  bytea  NOT NULL CHECK (octet_length(sha256) = 32),
    given   bytea  NOT NULL,
    content bytea  NOT NULL,
    UNIQUE (app_id, sha256)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);

-- A device's subscription to items. key is its name in the API. user_id: the user whose token made it; null: an API key
-- did. status: 1 active, 2 triggered. mode: 1 MERGE, 2 DISTINCT. is_shown: a person sees its pushes, which therefore wait
-- for the end of quiet hours. pause_seconds: null: the app's. when_paused: 1 newest, 2 drop. identity_hash is the SHA-256
-- of items, fields and trigger, by which an activation finds the subscription that it overwrites. revision rises with
-- each change of these terms. template_changed_at: when template_id last changed; null: never. Pushes that were cut before
-- have a former template.
CREATE TABLE item_subscriptions (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key             uuid        NOT NULL UNIQUE,
    app_id          bigint      NOT NULL,
    registration_id bigint      NOT NULL,
    user_id         text        CHECK (octet_length(user_id) <= 256),
    status          smallint    NOT NULL DEFAULT 1 CHECK (status IN (1, 2)), -- as above
    items           text[]      NOT NULL CHECK (cardinality(items) BETWEEN 1 AND 50),
    fields          text[]      NOT NULL CHECK (cardinality(fields) BETWEEN 1 AND 50),
    mode            smallint    NOT NULL CHECK (mode IN (1, 2)), -- as above
    trigger         text        CHECK (octet_length(trigger) <= 1024),
    template_id     bigint      NOT NULL,
    is_shown        boolean     NOT NULL DEFAULT true,
    pause_seconds   integer     CHECK (pause_seconds BETWEEN 0 AND 86400),
    when_paused     smallint    NOT NULL CHECK (when_paused IN (1, 2)), -- as above
    identity_hash   bytea       NOT NULL CHECK (octet_length(identity_hash) = 32),
    revision        integer     NOT NULL DEFAULT 1,
    expires_at      timestamptz,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    template_changed_at timestamptz
) WITH (
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX item_subscriptions_of_device ON item_subscriptions (registration_id, status, id);
CREATE INDEX item_subscriptions_alike ON item_subscriptions (registration_id, identity_hash, id);
CREATE INDEX item_subscriptions_of_app ON item_subscriptions (app_id, id);
-- A lease asks whether its members still have a subscription whose pushes have the message's form. A sweep asks whether
-- any has.
CREATE INDEX item_subscriptions_of_template ON item_subscriptions (template_id, registration_id);
-- A lease also asks whether a subscription got another form after its message was cut.
CREATE INDEX item_subscriptions_changed ON item_subscriptions (registration_id, template_changed_at)
    WHERE template_changed_at IS NOT NULL;
CREATE INDEX item_subscriptions_expiring ON item_subscriptions (expires_at, id) WHERE expires_at IS NOT NULL;
-- The items of fired triggers stay, for these may be armed again. No other row leads from an item to them.
CREATE INDEX item_subscriptions_triggered ON item_subscriptions USING gin (items) WHERE status = 2; -- 2 triggered

-- The subscriptions without a trigger, at each of their items. sent_seq is the number of the item's update up to which the
-- subscription was notified.
CREATE TABLE item_followers (
    item_id         bigint NOT NULL,
    subscription_id bigint NOT NULL,
    sent_seq        bigint NOT NULL,
    PRIMARY KEY (item_id, subscription_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 2, autovacuum_analyze_scale_factor = 20);
CREATE INDEX item_followers_of_subscription ON item_followers (subscription_id);

-- The triggers that compare the number in a field with a bound, as long as they have not fired: each at all of its
-- subscription's items. mode as in item_subscriptions. conversion: 1 Double.parseDouble, 2 Integer.parseInt. comparison:
-- 1 ==, 2 !=, 3 <, 4 <=, 5 >, 6 >=, with the field's number at its left side. bound is a double, as in the expression:
-- numeric would take 100.0 <= 99.99999999999999999 for false.
CREATE TABLE armed (
    item_id         bigint   NOT NULL,
    mode            smallint NOT NULL,
    field           text COLLATE "C" NOT NULL,
    conversion      smallint NOT NULL,
    comparison      smallint NOT NULL,
    bound           double precision NOT NULL,
    subscription_id bigint   NOT NULL,
    PRIMARY KEY (item_id, mode, field, conversion, comparison, bound, subscription_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX armed_of_subscription ON armed (subscription_id);

-- The other triggers that have not fired. expression is the SHA-256 of mode, fields and trigger: an update evaluates each
-- different one once.
CREATE TABLE armed_other (
    item_id         bigint NOT NULL,
    expression      bytea  NOT NULL,
    subscription_id bigint NOT NULL,
    PRIMARY KEY (item_id, expression, subscription_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX armed_other_of_subscription ON armed_other (subscription_id);

-- Pushes that wait for their device's window: one for each subscription at most. texts are those of the subscription's
-- fields when its trigger fired. null: they are read from the item when the push goes. The push may go from ready_at
-- on, and is looked at again at due_at: when the window opens, or when quiet hours end. A change of the app's quiet hours
-- makes all of them due, and so does switching subscriptions on. While they are off, or the token is retired, a trigger's
-- push is kept for a day and looked at every hour.
CREATE TABLE held_pushes (
    subscription_id bigint      PRIMARY KEY,
    app_id          bigint      NOT NULL,
    registration_id bigint      NOT NULL,
    item_id         bigint      NOT NULL,
    is_triggered    boolean     NOT NULL,
    texts           text[],
    ready_at        timestamptz NOT NULL,
    due_at          timestamptz NOT NULL,
    CHECK (is_triggered = (texts IS NOT NULL))
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off);
CREATE INDEX held_pushes_of_apps ON held_pushes (app_id, due_at, subscription_id);
CREATE INDEX held_pushes_next ON held_pushes (due_at);
CREATE INDEX held_pushes_of_device ON held_pushes (registration_id, ready_at, subscription_id);
CREATE INDEX held_pushes_of_device_due ON held_pushes (registration_id, due_at);

-- The window through which a device's pushes go: it is shut until opens_at. Narrow, because each push changes its row:
-- no index may be added here.
CREATE TABLE device_windows (
    registration_id bigint      PRIMARY KEY,
    opens_at        timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 2, autovacuum_analyze_scale_factor = 20);

-- Items with updates of which their followers were not notified yet. after_subscription is the cursor of a round through
-- more followers than one transaction notifies, and round_seq the item's number when that round began.
CREATE TABLE item_due (
    item_id            bigint      PRIMARY KEY,
    app_id             bigint      NOT NULL,
    due_at             timestamptz NOT NULL,
    after_subscription bigint      NOT NULL DEFAULT 0,
    round_seq          bigint
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off);
CREATE INDEX item_due_of_apps ON item_due (app_id, due_at, item_id);
CREATE INDEX item_due_next ON item_due (due_at);

-- The last line of each stream of updates that was taken. A backend that repeats its stream goes on behind it.
CREATE TABLE update_producers (
    app_id    bigint NOT NULL REFERENCES apps ON DELETE CASCADE,
    producer  text COLLATE "C" NOT NULL CHECK (octet_length(producer) BETWEEN 1 AND 256),
    last_line bigint NOT NULL,
    PRIMARY KEY (app_id, producer)
) WITH (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    vacuum_index_cleanup = on);

CREATE FUNCTION item_subscriptions_deleted() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    subscriptions CONSTANT bigint[] := ARRAY(SELECT id FROM deleted ORDER BY id);
BEGIN
    IF cardinality(subscriptions) > 0 THEN
        DELETE FROM item_followers WHERE subscription_id = ANY (subscriptions);
        DELETE FROM armed WHERE subscription_id = ANY (subscriptions);
        DELETE FROM armed_other WHERE subscription_id = ANY (subscriptions);
        DELETE FROM held_pushes WHERE subscription_id = ANY (subscriptions);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER item_subscriptions_deleted AFTER DELETE ON item_subscriptions REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION item_subscriptions_deleted();

-- A removed device takes its subscriptions to items and its window with it.
CREATE FUNCTION registrations_left_items() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    -- Rounds and releases lock windows before subscriptions.
    DELETE FROM device_windows WHERE registration_id = ANY (ARRAY(SELECT id FROM deleted ORDER BY id));
    DELETE FROM item_subscriptions WHERE registration_id = ANY (ARRAY(SELECT id FROM deleted ORDER BY id));
    RETURN NULL;
END $$;
CREATE TRIGGER registrations_left_items AFTER DELETE ON registrations REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION registrations_left_items();

-- The next user of a device gets nothing that the former one subscribed to, or that a backend did for the former one. The
-- former one's window goes too, so that it holds back nothing.
-- This runs row by row, and only for rows whose user changes, whatever the statement is about.
CREATE FUNCTION registration_left_items() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    -- Rounds and releases lock windows before subscriptions.
    DELETE FROM device_windows WHERE registration_id = NEW.id;
    DELETE FROM item_subscriptions WHERE registration_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER registration_left_items AFTER UPDATE OF user_id ON registrations
    FOR EACH ROW WHEN (OLD.user_id IS NOT NULL AND OLD.user_id IS DISTINCT FROM NEW.user_id)
    EXECUTE FUNCTION registration_left_items();
