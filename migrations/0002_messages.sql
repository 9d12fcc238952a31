-- Messages: what was accepted, what is still to be planned, and the account of what became of it.
--
-- A message that is being planned has a row in plans. Planners lock that one, so that the lock of a settle on the message
-- never hides it from them. Rows of messages keep their counts as long as their app; contents go with retention.

-- state: 1 accepted, 2 scheduled, 3 planning, 4 sending, 5 paused, 6 finished, 7 cancelled.
-- priority: 1 transactional, 2 bulk.
-- badge_change: 0 none, 1 plus one, 2 to badge_value.
CREATE TABLE messages (
    id               uuid        PRIMARY KEY,
    app_id           bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    -- Of its content and audience. A process plans and leases only formats that it knows.
    format           smallint    NOT NULL,
    state            smallint    NOT NULL DEFAULT 1 CHECK (state BETWEEN 1 AND 7),
    priority         smallint    NOT NULL CHECK (priority IN (1, 2)),
    push_type        smallint    NOT NULL,
    -- Which tokens the push type asks for.
    kind             smallint    NOT NULL,
    badge_change     smallint    NOT NULL DEFAULT 0 CHECK (badge_change IN (0, 1, 2)),
    badge_value      integer     NOT NULL DEFAULT 0 CHECK (badge_value >= 0),
    -- The highest registration id when it was accepted, or when it fell due.
    horizon          bigint      NOT NULL,
    accepted_at      timestamptz NOT NULL,
    -- When it is to be sent; null: at once. expires_at counts from there.
    due_at           timestamptz,
    expires_at       timestamptz NOT NULL,
    finished_at      timestamptz,
    -- What each device's own clock shows when its push leaves (decision 0024); null: it has no such hour.
    local_hour       timestamp,
    -- Devices whose clock is past that hour already get it at once; otherwise their push ends as suppressed.
    late_at_once     boolean     NOT NULL DEFAULT false,
    -- null: as fast as its providers take it (decision 0025).
    rate_per_second  integer     CHECK (rate_per_second > 0),
    -- Which limits of its app do not hold for it: 1 quiet hours, 2 the daily cap, 3 both (decision 0026).
    ignored_limits   smallint    NOT NULL DEFAULT 0 CHECK (ignored_limits BETWEEN 0 AND 3),
    -- It has localizations: a lease reads its members' locales where it reads their tokens. Others don't pay for it.
    reads_locale     boolean     NOT NULL DEFAULT false,
    -- It names tokens that no registration holds (inline_targets).
    has_inline       boolean     NOT NULL DEFAULT false,
    is_dry_run       boolean     NOT NULL DEFAULT false,
    -- The audience as the API shows it, without names. It stays when the content has gone.
    audience_summary text        NOT NULL,
    -- What was cut so far, unknown installations included. audience: the same, once planning has ended.
    planned_members  bigint      NOT NULL DEFAULT 0,
    audience         bigint,
    -- These count pushes that ended and whose parcel is gone.
    members          bigint      NOT NULL DEFAULT 0,
    accepted         bigint      NOT NULL DEFAULT 0 CHECK (accepted >= 0),
    rejected         bigint      NOT NULL DEFAULT 0 CHECK (rejected >= 0),
    unregistered     bigint      NOT NULL DEFAULT 0 CHECK (unregistered >= 0),
    expired          bigint      NOT NULL DEFAULT 0 CHECK (expired >= 0),
    suppressed       bigint      NOT NULL DEFAULT 0 CHECK (suppressed >= 0),
    cancelled        bigint      NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    gave_up          bigint      NOT NULL DEFAULT 0 CHECK (gave_up >= 0),
    CONSTRAINT message_adds_up
        CHECK (members = accepted + rejected + unregistered + expired + suppressed + cancelled + gave_up),
    CONSTRAINT members_were_planned CHECK (members <= planned_members),
    CONSTRAINT audience_is_planned CHECK (audience IS NULL OR audience = planned_members),
    CONSTRAINT finished_message_is_complete
        CHECK ((state = 6) = (finished_at IS NOT NULL) AND (state <> 6 OR (audience IS NOT NULL AND audience = members)))
) WITH (
    -- Only the last messages change, within their pages: a share of all there ever were would be reached once in years.
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX messages_of_app ON messages (app_id, id DESC);
-- Finished ones are nearly all: they are found without it.
CREATE INDEX messages_by_state ON messages (app_id, state, id DESC) WHERE state <> 6;
-- Before a message is accepted its app's unfinished ones are counted, of its urgency alone (decision 0042).
CREATE INDEX messages_unfinished ON messages (app_id, priority) WHERE state < 6;

-- What a message says, and its audience: JSON. Swept in bounded deletes, lowest id first (decision 0019).
CREATE TABLE message_contents (
    message_id uuid  PRIMARY KEY,
    content    bytea NOT NULL,
    audience   bytea NOT NULL
) WITH (
    -- What retention deletes lies together at one end, on so few pages that a vacuum by itself leaves the indexes alone. It
    -- is told not to, because each sweep passes what the one before left.
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);

-- Tokens that a message names and no registration holds. Their ids are no registration's, so that parcels hold them as they
-- hold registrations. They go with the message's content. route_id: where the first attempt leaves from; the parcel says
-- where a later one does. No foreign key to routes: they go with their app alone, as messages do.
CREATE TABLE inline_targets (
    id         bigint PRIMARY KEY,
    message_id uuid   NOT NULL REFERENCES messages ON DELETE CASCADE,
    route_id   bigint NOT NULL,
    token      bytea  NOT NULL CHECK (octet_length(token) BETWEEN 1 AND 4096)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
CREATE INDEX inline_targets_of_message ON inline_targets (message_id);

-- Queues, here and in 0003: rows live for seconds, and how many there are says nothing of how many there were. Their
-- vacuum is counted in rows, runs at full pace and always cleans indexes, because a search for the next row passes all
-- dead ones before it. They never give pages back: they need them again at once, and cutting off a table's end locks it.

-- One row per message whose planning has not ended. planned_through: the highest registration id that was read, or how many
-- of the named installations were looked up. slices: how many were cut.
-- after_message: it is planned once each push of that message has had its first attempt (decision 0013).
-- app_id: planners serve the apps in turn (decision 0036).
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

-- Messages that wait for their hour. A row becomes a plan when it falls due, and only then is the horizon read.
CREATE TABLE schedules (
    message_id    uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    due_at        timestamptz NOT NULL,
    priority      smallint    NOT NULL,
    after_message uuid
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);
CREATE INDEX schedules_in_turn ON schedules (due_at, message_id);

-- Messages that are paused, or cancelled and not accounted for to the last push (decision 0022). A table, because an index on
-- messages would hold all there ever were.
CREATE TABLE stops (
    message_id uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    stopped_at timestamptz NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);

-- One row per message that has a rate and is not over: a token bucket. next_at: when the next quantum may be leased; each
-- lease moves it on by the time that its pushes take at the rate.
CREATE TABLE message_rates (
    message_id uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    app_id     bigint      NOT NULL,
    next_at    timestamptz NOT NULL
) WITH (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off);
-- A lease looks at those of its route's app alone. Without next_at, so that a quantum changes no index.
CREATE INDEX message_rates_of_app ON message_rates (app_id);

-- The account of a message, beside its own counts. All of it is written in the transactions that settle its pushes, and
-- counts only what ended and whose parcel is gone. Pushes that ended before they had a route (an unknown installation) have
-- no provider.

-- Why pushes ended as they did. state: a terminal state.
CREATE TABLE message_reasons (
    message_id uuid     NOT NULL REFERENCES messages ON DELETE CASCADE,
    state      smallint NOT NULL CHECK (state BETWEEN 1 AND 7),
    reason     text     NOT NULL,
    count      bigint   NOT NULL CHECK (count > 0),
    PRIMARY KEY (message_id, state, reason)
) WITH (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);

-- The same by the provider of the route on which the pushes ended.
CREATE TABLE message_provider_reasons (
    message_id uuid     NOT NULL REFERENCES messages ON DELETE CASCADE,
    provider   smallint NOT NULL,
    state      smallint NOT NULL CHECK (state BETWEEN 1 AND 7),
    reason     text     NOT NULL,
    count      bigint   NOT NULL CHECK (count > 0),
    PRIMARY KEY (message_id, provider, state, reason)
) WITH (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);

CREATE TABLE message_providers (
    message_id   uuid     NOT NULL REFERENCES messages ON DELETE CASCADE,
    provider     smallint NOT NULL,
    accepted     bigint   NOT NULL CHECK (accepted >= 0),
    rejected     bigint   NOT NULL CHECK (rejected >= 0),
    unregistered bigint   NOT NULL CHECK (unregistered >= 0),
    expired      bigint   NOT NULL CHECK (expired >= 0),
    suppressed   bigint   NOT NULL CHECK (suppressed >= 0),
    cancelled    bigint   NOT NULL CHECK (cancelled >= 0),
    gave_up      bigint   NOT NULL CHECK (gave_up >= 0),
    PRIMARY KEY (message_id, provider)
) WITH (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);

-- How fast a message goes (decision 0027): how many of its pushes ended at a provider, when the last of them did, and two
-- readings of that count, taken by settles at least 15 seconds apart. A resume and another rate delete the row. A message
-- that is done with one settle has none.
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
