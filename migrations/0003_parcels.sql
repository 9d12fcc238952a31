-- Parcels: the pushes that are still to be sent, and the history of those that were.

-- A parcel holds the ids of its members and never changes them. Their terminal states are counted beside them, and the
-- CHECKs repeat the sums that the product promises (P2). A parcel without pending members is deleted; its counts are
-- added to its message.
--
-- state: 1 ready, 2 leased, 3 on hold (its message is paused or cancelled), 4 rate-limited (it waits for its message's
-- rate). The indexes that leases search hold only ready parcels.
CREATE TABLE parcels (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id    uuid        NOT NULL,
    app_id        bigint      NOT NULL,
    route_id      bigint      NOT NULL,
    -- The format of the message.
    format        smallint    NOT NULL,
    -- The service of the topic: 0 app, 1 voip, 2 complication, 3 file provider, 4 Live Activity, 5 push-to-talk,
    -- 6 location, 7 widgets, 8 controls. A credential covers a route and a service.
    service       smallint    NOT NULL DEFAULT 0 CHECK (service BETWEEN 0 AND 8),
    priority      smallint    NOT NULL CHECK (priority IN (1, 2)), -- 1 transactional, 2 bulk
    state         smallint    NOT NULL DEFAULT 1,
    -- Each lease raises epoch; each settle of a lease raises settles.
    epoch         integer     NOT NULL DEFAULT 0,
    settles       integer     NOT NULL DEFAULT 0,
    attempt       smallint    NOT NULL DEFAULT 0,
    -- The number of leases that expired.
    lapses        smallint    NOT NULL DEFAULT 0,
    -- The sum of the waits that the gateway chose, in microseconds.
    retry_spent   bigint      NOT NULL DEFAULT 0 CHECK (retry_spent >= 0),
    badge_marked  boolean     NOT NULL DEFAULT false,
    -- The number of the last set of a badge before its members' badges were incremented: a badge that was set later
    -- keeps what it has. Until the settle of that lease only the owner knows it. null: no increment is taken back.
    badge_set     bigint,
    -- A bitmap over the members that the badge mark leaves out, because limits deferred them at every lease. null:
    -- none.
    uncounted     bytea,
    answer_lost   boolean     NOT NULL DEFAULT false,
    -- The reason for which the members wait; null: they wait for their first attempt.
    waits_for     text,
    -- The provider's word for that reason; null: it gave none.
    wait_quote    text,
    -- Since when they wait for that reason without a break; null: for none.
    waits_since   timestamptz,
    due_at        timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    owner         uuid,
    lease_until   timestamptz,
    -- Only for a cross-environment parcel: the route that refused its members, the generation of their tokens there,
    -- the reason and the time of that lease. origin_until ends the wait for the answer of the other environment. A
    -- device that registered after origin_as_of is not suspected because of that refusal.
    origin_route_id   bigint,
    origin_generation integer,
    origin_reason     text,
    origin_as_of      timestamptz,
    origin_until      timestamptz,
    -- Sorted ids, delta-coded or a bitmap; the first byte says which. settled is a bitmap over their positions, with a
    -- bit for each member that ended or continued in another parcel. Long values of both are toasted, so that a change
    -- of state moves a short row.
    members       bytea       NOT NULL,
    settled       bytea,
    member_count  integer     NOT NULL CHECK (member_count > 0),
    pending       integer     NOT NULL CHECK (pending > 0),
    handed_over   integer     NOT NULL DEFAULT 0,
    accepted      integer     NOT NULL DEFAULT 0,
    rejected      integer     NOT NULL DEFAULT 0,
    unregistered  integer     NOT NULL DEFAULT 0,
    expired       integer     NOT NULL DEFAULT 0,
    suppressed    integer     NOT NULL DEFAULT 0,
    cancelled     integer     NOT NULL DEFAULT 0,
    gave_up       integer     NOT NULL DEFAULT 0,
    CONSTRAINT parcel_counts_are_not_negative CHECK (
        least(handed_over, accepted, rejected, unregistered, expired, suppressed, cancelled, gave_up) >= 0),
    CONSTRAINT parcel_adds_up CHECK (member_count = pending + handed_over
        + accepted + rejected + unregistered + expired + suppressed + cancelled + gave_up),
    CONSTRAINT bitmap_says_the_same CHECK (coalesce(bit_count(settled), 0) = member_count - pending),
    CONSTRAINT members_stay_small CHECK (octet_length(members) <= 8 * member_count + 1),
    CONSTRAINT leased_has_owner CHECK (
        (state IN (1, 3, 4) AND owner IS NULL AND lease_until IS NULL) -- 1 ready, 3 on hold, 4 rate-limited
        OR (state = 2 /* leased */ AND owner IS NOT NULL AND lease_until IS NOT NULL)),
    CONSTRAINT origin_is_complete CHECK (
        num_nonnulls(origin_route_id, origin_generation, origin_reason, origin_as_of, origin_until) IN (0, 5))
) WITH (
    fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 4000,
    toast.autovacuum_vacuum_cost_delay = 0, toast.vacuum_truncate = off);
-- A lease takes the first due parcel of a route and service.
CREATE INDEX parcels_claim ON parcels (route_id, service, priority, due_at, id) WHERE state = 1; -- 1 ready
-- Parcels whose leases expired twice are leased in quarantine. Each poll asks which routes have one.
CREATE INDEX parcels_lapsed ON parcels (route_id, service, priority, due_at, id)
    WHERE state = 1 /* ready */ AND lapses >= 2;
-- Each poll asks which routes and services have a due parcel that this program can send. The format comes before the
-- time, so that the query costs no more while a hundred thousand parcels wait for a newer program.
CREATE INDEX parcels_ready ON parcels (route_id, service, format, priority, due_at) WHERE state = 1; -- 1 ready
CREATE INDEX parcels_leases ON parcels (lease_until) WHERE state = 2; -- 2 leased
CREATE INDEX parcels_on_hold ON parcels (message_id, id) WHERE state = 3; -- 3 on hold
-- The next parcel of a message on a route, and the routes on which the message has any.
CREATE INDEX parcels_rate_limited ON parcels (message_id, route_id, due_at, id) WHERE state = 4; -- 4 rate-limited
CREATE INDEX parcels_of_message ON parcels (message_id);

-- The messages and the routes are locked until the transaction ends. Plans are made once, maybe while the tables are
-- empty, so they must not read whole tables.
CREATE FUNCTION parcels_inserted() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT message_id FROM inserted) AS named
        WHERE (SELECT id FROM messages WHERE id = named.message_id FOR KEY SHARE) IS NULL
    ) OR EXISTS (
        SELECT FROM (SELECT DISTINCT route_id, app_id FROM inserted) AS named
        WHERE (SELECT id FROM routes WHERE id = named.route_id AND app_id = named.app_id FOR KEY SHARE) IS NULL
    ) THEN
        RAISE foreign_key_violation USING
            MESSAGE = 'a new parcel names a message that does not exist, or a route that its app does not have',
            SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = 'parcels_message_id_route_id_fkey';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER parcels_inserted AFTER INSERT ON parcels REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION parcels_inserted();

CREATE FUNCTION messages_deleted() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    ids CONSTANT uuid[] := ARRAY(SELECT id FROM deleted ORDER BY id);
BEGIN
    IF cardinality(ids) > 0 THEN
        DELETE FROM parcels WHERE message_id = ANY (ids);
        DELETE FROM message_providers WHERE message_id = ANY (ids);
        -- The order leaves no other index than the primary key's.
        DELETE FROM own_values WHERE ctid = ANY (ARRAY(
            SELECT chunk.ctid FROM unnest(ids) AS gone (id)
            CROSS JOIN LATERAL (
                SELECT ctid FROM own_values WHERE message_id = gone.id ORDER BY message_id, first_member FOR UPDATE
            ) AS chunk));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER messages_deleted AFTER DELETE ON messages REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION messages_deleted();

-- The result of each settle for its members: one row for each way in which they ended, or continued after an attempt.
-- The settle's transaction writes it. Failure lists and the history of one push are read from here; nothing is counted
-- from it. Rows hold ids of registrations and no name of a device, so that an erased user has no name here at once.
--
-- state: a terminal state, or 0 for members that continue. reason: why they ended, or why they wait. settle: the number
-- of the settle of its parcel. members: as in parcels. Message ids rise with time (UUIDv7). Each partition has a day's
-- messages, and is dropped with them. Rows of a day without a partition lie in the default one, and are deleted singly.
CREATE TABLE push_history (
    message_id   uuid        NOT NULL,
    parcel_id    bigint      NOT NULL,
    settle       integer     NOT NULL,
    place        smallint    NOT NULL,
    route_id     bigint      NOT NULL,
    state        smallint    NOT NULL CHECK (state BETWEEN 0 AND 7), -- 0 continues, else a terminal state
    reason       text        NOT NULL,
    attempts     smallint    NOT NULL,
    at           timestamptz NOT NULL,
    first_member bigint      NOT NULL,
    last_member  bigint      NOT NULL CHECK (last_member >= first_member),
    member_count integer     NOT NULL CHECK (member_count > 0),
    members      bytea       NOT NULL,
    PRIMARY KEY (message_id, parcel_id, settle, place)
) PARTITION BY RANGE (message_id);
-- The value is delta-coded or a bitmap: compressing it again would cost time and save nothing.
ALTER TABLE push_history ALTER COLUMN members SET STORAGE EXTERNAL;
-- HistoryPartitions creates the partitions of the days ahead of time.
CREATE TABLE push_history_other PARTITION OF push_history DEFAULT WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
