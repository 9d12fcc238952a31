-- Messages: accepted messages, planning that is still to be done, and the account of results.
--
-- A message that is being planned has a row in plans. Planners lock that row, so that the lock of a settle on the
-- message never hides it from them. Rows of messages keep their counts as long as their app exists; contents are
-- deleted at the end of their retention.

-- state: 1 accepted, 2 scheduled, 3 planning, 4 sending, 5 paused, 6 finished, 7 cancelled.
-- priority: 1 transactional, 2 bulk.
-- badge_change: 0 none, 1 plus one, 2 to badge_value.
--
-- Triggers stand for the foreign keys between apps, messages, parcels and message_providers. A foreign key checks each
-- row by itself, with a statement and a lock each time, and these rows are written for each push to one device.
CREATE TABLE messages (
    id               uuid        PRIMARY KEY,
    app_id           bigint      NOT NULL,
    -- The format of its content and audience. A process plans and leases only formats that it knows.
    format           smallint    NOT NULL,
    state            smallint    NOT NULL DEFAULT 1 CHECK (state BETWEEN 1 AND 7), -- as above
    priority         smallint    NOT NULL CHECK (priority IN (1, 2)), -- 1 transactional, 2 bulk
    push_type        smallint    NOT NULL,
    -- The kind of token that the push type asks for.
    kind             smallint    NOT NULL,
    badge_change     smallint    NOT NULL DEFAULT 0 CHECK (badge_change IN (0, 1, 2)),
    badge_value      integer     NOT NULL DEFAULT 0 CHECK (badge_value >= 0),
    -- The highest registration id when the message was accepted, or when it fell due.
    horizon          bigint      NOT NULL,
    accepted_at      timestamptz NOT NULL,
    -- The time at which it is to be sent; null means at once. expires_at counts from there.
    due_at           timestamptz,
    expires_at       timestamptz NOT NULL,
    finished_at      timestamptz,
    -- The local time at each device at which its push leaves (decision 0024); null means that there is none.
    local_hour       timestamp,
    -- The time at which the send time was last changed, or at which a message that was accepted paused was resumed.
    -- Local hours that had passed by then count as passed; null: those that had passed at acceptance.
    hour_set_at      timestamptz,
    -- If true, a device whose clock is already past that time gets the push at once. Otherwise the push ends as
    -- suppressed.
    late_at_once     boolean     NOT NULL DEFAULT false,
    -- The rate; null means as fast as the providers take it (decision 0025).
    rate_per_second  integer     CHECK (rate_per_second > 0),
    -- The limits of its app that it ignores: 1 quiet hours, 2 the daily cap, 3 both (decision 0026).
    ignored_limits   smallint    NOT NULL DEFAULT 0 CHECK (ignored_limits BETWEEN 0 AND 3),
    -- The message has localizations: a lease reads its members' locales with their tokens. Other messages don't pay for
    -- it.
    reads_locale     boolean     NOT NULL DEFAULT false,
    -- The message names tokens that no registration holds (inline_targets).
    has_inline       boolean     NOT NULL DEFAULT false,
    -- Its members have values of their own (own_values). False again once these are removed.
    has_own_values   boolean     NOT NULL DEFAULT false,
    is_dry_run       boolean     NOT NULL DEFAULT false,
    -- The cause: 0 a sender, 1 a change of a watched node, 2 an update of an item, 3 the end of subscriptions. Lists and
    -- backlogs count senders' messages alone.
    origin           smallint    NOT NULL DEFAULT 0 CHECK (origin BETWEEN 0 AND 3), -- as above
    -- The audience as the API shows it, without names. It stays when the content is deleted.
    audience_summary text        NOT NULL,
    -- The name that its sender gave it, and the name of the API key that sent it. The gateway's own have neither.
    name             text        CHECK (char_length(name) BETWEEN 1 AND 120),
    author           text        CHECK (octet_length(author) BETWEEN 1 AND 64),
    -- The number of members cut so far, unknown installations included. audience is the same, once planning has ended.
    planned_members  bigint      NOT NULL DEFAULT 0,
    audience         bigint,
    -- These count pushes that ended and whose parcel has been deleted.
    members          bigint      NOT NULL DEFAULT 0,
    accepted         bigint      NOT NULL DEFAULT 0,
    rejected         bigint      NOT NULL DEFAULT 0,
    unregistered     bigint      NOT NULL DEFAULT 0,
    expired          bigint      NOT NULL DEFAULT 0,
    suppressed       bigint      NOT NULL DEFAULT 0,
    cancelled        bigint      NOT NULL DEFAULT 0,
    gave_up          bigint      NOT NULL DEFAULT 0,
    -- One CHECK for all counts: PostgreSQL reads each CHECK of a table anew for each statement that writes to it.
    CONSTRAINT counts_are_not_negative
        CHECK (least(accepted, rejected, unregistered, expired, suppressed, cancelled, gave_up) >= 0),
    CONSTRAINT message_adds_up
        CHECK (members = accepted + rejected + unregistered + expired + suppressed + cancelled + gave_up),
    CONSTRAINT members_were_planned CHECK (members <= planned_members),
    CONSTRAINT audience_is_planned CHECK (audience IS NULL OR audience = planned_members),
    CONSTRAINT finished_message_is_complete
        CHECK ((state = 6) = (finished_at IS NOT NULL) -- 6 finished
            AND (state <> 6 OR (audience IS NOT NULL AND audience = members))) -- 6 finished
) WITH (
    -- Only the last messages change, within their pages. A share of all messages ever sent would be reached once in
    -- years.
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX messages_of_app ON messages (app_id, accepted_at DESC, id DESC) WHERE origin = 0; -- 0 a sender
-- Those of the gateway's own are deleted soon after their end.
CREATE INDEX messages_of_gateway ON messages (app_id, id DESC) WHERE origin > 0; -- 0 a sender
-- The notices that are under way are counted, and a deleted app waits for them.
CREATE INDEX messages_of_gateway_unfinished ON messages (app_id, origin)
    WHERE state < 6 AND origin > 0; -- 6 finished, 7 cancelled; 0 a sender
-- The index leaves out finished messages. They are nearly all messages, and are found without it.
CREATE INDEX messages_by_state ON messages (app_id, state, accepted_at DESC, id DESC)
    WHERE state <> 6 AND origin = 0; -- 6 finished, 0 a sender
-- Before a message is accepted, the app's unfinished messages of the same urgency are counted (decision 0042).
CREATE INDEX messages_unfinished ON messages (app_id, priority)
    WHERE state < 6 AND origin = 0; -- 6 finished, 7 cancelled; 0 a sender
-- Messages that are over, and whose members' own values are still to be removed.
CREATE INDEX messages_with_own_values ON messages (expires_at, id)
    WHERE has_own_values AND state >= 6; -- 6 finished, 7 cancelled

-- The app is locked until the transaction ends.
CREATE FUNCTION messages_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT app_id FROM inserted) AS named
        WHERE (SELECT id FROM apps WHERE id = named.app_id FOR KEY SHARE) IS NULL
    ) THEN
        RAISE foreign_key_violation USING MESSAGE = 'a new message names an app that does not exist',
            SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = 'messages_app_id_fkey';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER messages_inserted AFTER INSERT ON messages REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION messages_inserted();

CREATE FUNCTION apps_deleted() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM messages WHERE app_id = ANY (ARRAY(SELECT id FROM deleted));
    RETURN NULL;
END $$;
CREATE TRIGGER apps_deleted AFTER DELETE ON apps REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION apps_deleted();

-- The content of a message and its audience, as JSON. Swept in bounded deletes, lowest id first (decision 0019).
CREATE TABLE message_contents (
    message_id uuid  PRIMARY KEY,
    content    bytea NOT NULL,
    audience   bytea NOT NULL
) WITH (
    -- Rows that retention deletes lie together at one end, on so few pages that a vacuum would leave the indexes alone
    -- by default. This setting forbids that, because each sweep passes the index entries that earlier sweeps left.
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);

-- Tokens that a message names and no registration holds. Their ids differ from those of registrations, so parcels hold
-- both in the same way. They are deleted with the message's content. route_id is the route of the first attempt; the
-- parcel names the route of a later one. There is no foreign key to routes, which are deleted only with their app, as
-- messages are.
CREATE TABLE inline_targets (
    id         bigint PRIMARY KEY,
    message_id uuid   NOT NULL REFERENCES messages ON DELETE CASCADE,
    route_id   bigint NOT NULL,
    token      bytea  NOT NULL CHECK (octet_length(token) BETWEEN 1 AND 4096)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
CREATE INDEX inline_targets_of_message ON inline_targets (message_id);

-- Values of members' own: each fills a placeholder of the message for one member (decision 0076). A row has the values
-- of some members, by rising id, whatever parcels these are in: first_member to last_member, and no member of another
-- row of the message lies in between. A row never gets another member. An erased member's value becomes empty.
--
-- members: as in parcels. value_bytes: for each member two bytes with the length of its value, highest first, and the
-- value. The transaction that writes the message writes them. A trigger deletes them with it (0003), and a sweep as soon
-- as it is over.
CREATE TABLE own_values (
    message_id   uuid   NOT NULL,
    first_member bigint NOT NULL,
    last_member  bigint NOT NULL CHECK (last_member >= first_member),
    app_id       bigint NOT NULL,
    members      bytea  NOT NULL,
    value_bytes  bytea  NOT NULL,
    PRIMARY KEY (message_id, first_member)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000,
    toast.autovacuum_vacuum_cost_delay = 0, toast.vacuum_truncate = off);
-- Ciphertexts do not shrink, and members are delta-coded.
ALTER TABLE own_values ALTER COLUMN members SET STORAGE EXTERNAL;
ALTER TABLE own_values ALTER COLUMN value_bytes SET STORAGE EXTERNAL;
-- An erasure looks for the rows that may have a member.
CREATE INDEX own_values_of_app ON own_values (app_id, message_id, first_member, last_member);

-- Queues, here and in 0003: rows live for seconds, and their present number says nothing about their former number.
-- Their vacuum is counted in rows, runs at full pace and always cleans indexes, because a search for the next row
-- passes all dead ones before it. They never return pages: they need them again at once, and truncating a table locks
-- it.

-- One row per message whose planning has not ended. planned_through is the highest registration id that was read, or
-- the number of named installations that were looked up. slices is the number of slices cut. after_message: the message
-- is planned once each push of that one has had its first attempt (decision 0013). app_id: planners serve the apps in
-- turn (decision 0036).
CREATE TABLE plans (
    message_id      uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    app_id          bigint      NOT NULL,
    format          smallint    NOT NULL,
    priority        smallint    NOT NULL,
    planned_through bigint      NOT NULL DEFAULT 0,
    planned_at      timestamptz,
    slices          integer     NOT NULL DEFAULT 0,
    after_message   uuid
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off);
CREATE INDEX plans_of_apps ON plans (priority, app_id, planned_at NULLS FIRST, message_id);

-- Messages that have not started. A row becomes a plan when it falls due, and only then is the horizon read. due_at is
-- null while the message is paused and starts no earlier than it is resumed.
CREATE TABLE schedules (
    message_id    uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    due_at        timestamptz,
    priority      smallint    NOT NULL,
    after_message uuid
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);
CREATE INDEX schedules_in_turn ON schedules (due_at, message_id);

-- Messages that are paused, or cancelled and not yet fully counted (decision 0022). This is a table, because an index
-- on messages would hold all messages ever sent.
CREATE TABLE stops (
    message_id uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    stopped_at timestamptz NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);

-- One row per message that has a rate and is not finished: a token bucket. next_at is when the next quantum may be
-- leased. Each lease moves it on by the time that its pushes take at the rate.
CREATE TABLE message_rates (
    message_id uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    app_id     bigint      NOT NULL,
    next_at    timestamptz NOT NULL
) WITH (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off);
-- A lease reads only the rows of its route's app. The index leaves out next_at, so that a quantum changes no index.
CREATE INDEX message_rates_of_app ON message_rates (app_id);

-- The account of a message, beside its own counts. The transactions that settle its pushes write all of it. It counts
-- only pushes that ended and whose parcel has been deleted. Pushes that ended before they had a route (an unknown
-- installation) have no provider.

-- The reasons for which pushes ended. state: a terminal state.
CREATE TABLE message_reasons (
    message_id uuid     NOT NULL REFERENCES messages ON DELETE CASCADE,
    state      smallint NOT NULL CHECK (state BETWEEN 1 AND 7), -- a terminal state
    reason     text     NOT NULL,
    count      bigint   NOT NULL CHECK (count > 0),
    -- The field that the provider named first, and why; no token and no value. null: it named none.
    detail     text     CHECK (octet_length(detail) <= 200),
    PRIMARY KEY (message_id, state, reason)
) WITH (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);

-- The same counts by the provider of the route on which the pushes ended.
CREATE TABLE message_provider_reasons (
    message_id uuid     NOT NULL REFERENCES messages ON DELETE CASCADE,
    provider   smallint NOT NULL,
    state      smallint NOT NULL CHECK (state BETWEEN 1 AND 7), -- a terminal state
    reason     text     NOT NULL,
    count      bigint   NOT NULL CHECK (count > 0),
    PRIMARY KEY (message_id, provider, state, reason)
) WITH (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);

-- Each writer of a row holds its message's row. A trigger deletes it with the message (0003).
CREATE TABLE message_providers (
    message_id   uuid     NOT NULL,
    provider     smallint NOT NULL,
    accepted     bigint   NOT NULL,
    rejected     bigint   NOT NULL,
    unregistered bigint   NOT NULL,
    expired      bigint   NOT NULL,
    suppressed   bigint   NOT NULL,
    cancelled    bigint   NOT NULL,
    gave_up      bigint   NOT NULL,
    PRIMARY KEY (message_id, provider),
    CONSTRAINT provider_counts_are_not_negative
        CHECK (least(accepted, rejected, unregistered, expired, suppressed, cancelled, gave_up) >= 0)
) WITH (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);

-- The pace of a message (decision 0027). It has the number of its pushes that ended at a provider and the time of the
-- last one. Two readings of that number were taken by settles at least 15 seconds apart. A resume and a new rate delete
-- the row. A message that needs only one settle has none.
CREATE TABLE message_paces (
    message_id uuid        NOT NULL REFERENCES messages ON DELETE CASCADE,
    provider   smallint    NOT NULL,
    ended      bigint      NOT NULL CHECK (ended >= 0),
    settled_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    seen       bigint      NOT NULL,
    before_at  timestamptz,
    before     bigint,
    PRIMARY KEY (message_id, provider)
) WITH (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);
