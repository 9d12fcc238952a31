-- The registry (who has which token) and the queue (what is still owed to whom).
-- oldest program: 0001
--
-- Why it looks like this:
--  * registrations is wide and changes seldom; registration_pulse is narrow and changes with every app start and
--    every badge, so that those updates stay HOT and cheap.
--  * a parcel holds the ids of its members and never changes them; what became of them is counted beside, and the
--    CHECKs repeat the sums that the product promises (P2).
--  * a message that is still being planned has a row in plans: planners lock that one, so that the lock of a settle on
--    the message never hides it from them.
--  * message rows keep counts for ever, message_contents goes with retention.
-- Numbers in smallint columns are the raw values of the enums in Sources/PushModel.

CREATE TABLE apps (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug        text        NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    name        text        NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 256),
    settings    jsonb       NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Where a registration's pushes leave from. A topic of '' means the only topic of the credential.
CREATE TABLE routes (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id      bigint   NOT NULL REFERENCES apps ON DELETE CASCADE,
    provider    smallint NOT NULL,
    environment smallint NOT NULL,
    topic       text     NOT NULL DEFAULT '' CHECK (octet_length(topic) <= 255),
    UNIQUE (app_id, provider, environment, topic),
    -- What the foreign keys of registrations and parcels point at: they repeat the app (and provider) of their route.
    UNIQUE (id, app_id, provider),
    UNIQUE (id, app_id)
);

-- state: 1 active, 2 suspected, 3 retired. Removing a device removes its rows.
CREATE TABLE registrations (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id       bigint      NOT NULL,
    route_id     bigint      NOT NULL,
    provider     smallint    NOT NULL,
    kind         smallint    NOT NULL,
    state        smallint    NOT NULL DEFAULT 1 CHECK (state IN (1, 2, 3)),
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
    UNIQUE (app_id, installation, kind),
    FOREIGN KEY (route_id, app_id, provider) REFERENCES routes (id, app_id, provider) ON DELETE CASCADE
);
-- One token never belongs to two live registrations of one app. Hashed, since a token may be longer than an index row.
CREATE UNIQUE INDEX registrations_live_token ON registrations (app_id, provider, sha256(token)) WHERE state < 3;
-- The planner walks an app's live registrations in id order.
CREATE INDEX registrations_planning ON registrations (app_id, kind, id) INCLUDE (route_id) WHERE state < 3;

-- Half-empty pages leave room for HOT updates; no other index may ever be added here.
-- as_of: when the backend learned what the registration says; an older one is stale.
CREATE TABLE registration_pulse (
    registration_id bigint      PRIMARY KEY REFERENCES registrations ON DELETE CASCADE,
    badge           integer     NOT NULL DEFAULT 0 CHECK (badge >= 0),
    registered_at   timestamptz NOT NULL,
    as_of           timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- state: 1 accepted, 2 scheduled, 3 planning, 4 sending, 5 paused, 6 finished, 7 cancelled.
-- priority: 1 transactional, 2 bulk. kind: which tokens the push type asks for.
-- badge_change: 0 none, 1 plus one, 2 to badge_value. horizon: the highest registration id when it was accepted.
-- planned_members: what was cut so far, unknown installations included. audience: the same, once planning has ended.
-- members and the seven counts speak of what is settled for good and whose parcel is gone.
CREATE TABLE messages (
    id              uuid        PRIMARY KEY,
    app_id          bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    format          smallint    NOT NULL,
    state           smallint    NOT NULL DEFAULT 1 CHECK (state BETWEEN 1 AND 7),
    priority        smallint    NOT NULL CHECK (priority IN (1, 2)),
    kind            smallint    NOT NULL,
    badge_change    smallint    NOT NULL DEFAULT 0 CHECK (badge_change IN (0, 1, 2)),
    badge_value     integer     NOT NULL DEFAULT 0 CHECK (badge_value >= 0),
    horizon         bigint      NOT NULL,
    accepted_at     timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    finished_at     timestamptz,
    planned_members bigint      NOT NULL DEFAULT 0,
    audience        bigint,
    members         bigint      NOT NULL DEFAULT 0,
    accepted        bigint      NOT NULL DEFAULT 0 CHECK (accepted >= 0),
    rejected        bigint      NOT NULL DEFAULT 0 CHECK (rejected >= 0),
    unregistered    bigint      NOT NULL DEFAULT 0 CHECK (unregistered >= 0),
    expired         bigint      NOT NULL DEFAULT 0 CHECK (expired >= 0),
    suppressed      bigint      NOT NULL DEFAULT 0 CHECK (suppressed >= 0),
    cancelled       bigint      NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    gave_up         bigint      NOT NULL DEFAULT 0 CHECK (gave_up >= 0),
    CONSTRAINT message_adds_up
        CHECK (members = accepted + rejected + unregistered + expired + suppressed + cancelled + gave_up),
    CONSTRAINT members_were_planned CHECK (members <= planned_members),
    CONSTRAINT audience_is_planned CHECK (audience IS NULL OR audience = planned_members),
    CONSTRAINT finished_message_is_complete
        CHECK ((state = 6) = (finished_at IS NOT NULL) AND (state <> 6 OR (audience IS NOT NULL AND audience = members)))
) WITH (fillfactor = 80);
CREATE INDEX messages_of_app ON messages (app_id, id DESC);
-- An app's backlog is counted here, up to its limit.
CREATE INDEX messages_open ON messages (app_id) WHERE state < 6;

-- One row per message whose planning has not ended. planned_through: the highest registration id that was read
-- (audience: all), or how many of the named installations were looked up.
CREATE TABLE plans (
    message_id      uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    format          smallint    NOT NULL,
    priority        smallint    NOT NULL,
    planned_through bigint      NOT NULL DEFAULT 0,
    planned_at      timestamptz
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
CREATE INDEX plans_in_turn ON plans (priority, planned_at NULLS FIRST, message_id);

-- Message ids rise with time (UUIDv7), so that contents can be partitioned and dropped by id range.
CREATE TABLE message_contents (
    message_id uuid  PRIMARY KEY,
    content    bytea NOT NULL,
    audience   bytea NOT NULL
) PARTITION BY RANGE (message_id);
CREATE TABLE message_contents_rest PARTITION OF message_contents DEFAULT;

-- Why pushes ended as they did, per message. Written in the transaction that settles them.
CREATE TABLE message_reasons (
    message_id uuid     NOT NULL REFERENCES messages ON DELETE CASCADE,
    state      smallint NOT NULL CHECK (state BETWEEN 1 AND 7),
    reason     text     NOT NULL,
    count      bigint   NOT NULL CHECK (count > 0),
    PRIMARY KEY (message_id, state, reason)
) WITH (fillfactor = 80);

-- state: 1 ready, 2 leased. A finished parcel is gone: its counts were folded into its message.
-- members: the frozen ids, delta-coded. settled: a bitmap over their positions, set where a member ended or was handed
-- over to another parcel. retry_spent: microseconds. Both bytea are toasted where they are long, so that a change of state moves a short row.
CREATE TABLE parcels (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id    uuid        NOT NULL REFERENCES messages ON DELETE CASCADE,
    app_id        bigint      NOT NULL,
    route_id      bigint      NOT NULL,
    format        smallint    NOT NULL,
    priority      smallint    NOT NULL CHECK (priority IN (1, 2)),
    state         smallint    NOT NULL DEFAULT 1,
    epoch         integer     NOT NULL DEFAULT 0,
    settles       integer     NOT NULL DEFAULT 0,
    attempt       smallint    NOT NULL DEFAULT 0,
    lapses        smallint    NOT NULL DEFAULT 0,
    retry_spent   bigint      NOT NULL DEFAULT 0 CHECK (retry_spent >= 0),
    badge_marked  boolean     NOT NULL DEFAULT false,
    answer_lost   boolean     NOT NULL DEFAULT false,
    due_at        timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    owner         uuid,
    lease_until   timestamptz,
    members       bytea       NOT NULL,
    settled       bytea,
    member_count  integer     NOT NULL CHECK (member_count > 0),
    pending       integer     NOT NULL CHECK (pending > 0),
    handed_over   integer     NOT NULL DEFAULT 0 CHECK (handed_over >= 0),
    accepted      integer     NOT NULL DEFAULT 0 CHECK (accepted >= 0),
    rejected      integer     NOT NULL DEFAULT 0 CHECK (rejected >= 0),
    unregistered  integer     NOT NULL DEFAULT 0 CHECK (unregistered >= 0),
    expired       integer     NOT NULL DEFAULT 0 CHECK (expired >= 0),
    suppressed    integer     NOT NULL DEFAULT 0 CHECK (suppressed >= 0),
    cancelled     integer     NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    gave_up       integer     NOT NULL DEFAULT 0 CHECK (gave_up >= 0),
    FOREIGN KEY (route_id, app_id) REFERENCES routes (id, app_id) ON DELETE CASCADE,
    CONSTRAINT parcel_adds_up CHECK (member_count = pending + handed_over
        + accepted + rejected + unregistered + expired + suppressed + cancelled + gave_up),
    CONSTRAINT bitmap_says_the_same CHECK (coalesce(bit_count(settled), 0) = member_count - pending),
    -- One byte tells how they are coded.
    CONSTRAINT members_stay_small CHECK (octet_length(members) <= 8 * member_count + 1),
    CONSTRAINT leased_has_owner CHECK ((state = 1 AND owner IS NULL AND lease_until IS NULL)
        OR (state = 2 AND owner IS NOT NULL AND lease_until IS NOT NULL))
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
CREATE INDEX parcels_claim ON parcels (route_id, priority, due_at, id) WHERE state = 1;
CREATE INDEX parcels_leases ON parcels (lease_until) WHERE state = 2;
CREATE INDEX parcels_of_message ON parcels (message_id);

-- Doubts about tokens, until the window, the share and the sample confirm or drop them (P5).
CREATE TABLE suspicions (
    registration_id bigint      PRIMARY KEY REFERENCES registrations ON DELETE CASCADE,
    route_id        bigint      NOT NULL,
    generation      integer     NOT NULL,
    reason          text        NOT NULL,
    suspected_at    timestamptz NOT NULL
);
CREATE INDEX suspicions_by_age ON suspicions (suspected_at, registration_id) INCLUDE (route_id);

-- How many answers each route had, and how many of them doubted the token: the sample and the share, over all processes.
CREATE TABLE route_minutes (
    route_id  bigint      NOT NULL REFERENCES routes ON DELETE CASCADE,
    minute    timestamptz NOT NULL,
    answered  bigint      NOT NULL DEFAULT 0,
    suspected bigint      NOT NULL DEFAULT 0,
    PRIMARY KEY (route_id, minute)
) WITH (fillfactor = 70);

-- verdict: 1 retired, 2 suspected, 3 replaced, 4 moved, 5 undone, 6 cleared. Rows become readable in the order of their
-- transactions: a reader serves only those below the oldest one still running, so that its cursor skips none.
CREATE TABLE feedback (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xact            xid8        NOT NULL DEFAULT pg_current_xact_id(),
    app_id          bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    registration_id bigint      NOT NULL,
    generation      integer     NOT NULL,
    installation    text        NOT NULL,
    kind            smallint    NOT NULL,
    provider        smallint    NOT NULL,
    verdict         smallint    NOT NULL CHECK (verdict BETWEEN 1 AND 6),
    reason          text        NOT NULL,
    at              timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX feedback_in_order ON feedback (app_id, xact, id);

-- state: 1 staged, 2 active, 3 retired. sealed: AES-256-GCM under the master key; facts hold nothing secret.
-- A slot is (app, provider, environment, set of topics, sorted); it has at most one active credential.
CREATE TABLE credentials (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id       bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    provider     smallint    NOT NULL,
    environment  smallint    NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('token', 'certificate', 'service_account', 'client')),
    topics       text[]      NOT NULL DEFAULT '{}',
    facts        jsonb       NOT NULL DEFAULT '{}',
    sealed       bytea       NOT NULL,
    state        smallint    NOT NULL DEFAULT 1 CHECK (state IN (1, 2, 3)),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    activated_at timestamptz,
    retired_at   timestamptz
);
CREATE UNIQUE INDEX credentials_one_active ON credentials (app_id, provider, environment, topics) WHERE state = 2;

-- A credential that the provider refused: no process leases for it before `until`. Announced by NOTIFY.
CREATE TABLE lane_blocks (
    credential_id bigint      PRIMARY KEY REFERENCES credentials ON DELETE CASCADE,
    reason        text        NOT NULL,
    blocked_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    until         timestamptz NOT NULL
);

-- The signed provider token of a key, shared by all processes, sealed. Without one: a process is about to sign.
CREATE TABLE provider_tokens (
    key_fingerprint bytea PRIMARY KEY,
    sealed          bytea,
    issued_at       timestamptz,
    CHECK ((sealed IS NULL) = (issued_at IS NULL))
);

-- Tells at the start whether the master key is the one that sealed this database's secrets.
CREATE TABLE master_key_proof (
    id     smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    sealed bytea    NOT NULL
);

-- A repeated request has one effect and gets the first answer (P10). Written in the transaction of the effect.
-- app_id: 0 for requests that belong to no app.
CREATE TABLE idempotency_keys (
    app_id      bigint      NOT NULL,
    operation   text        NOT NULL,
    key         text        NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    body_sha256 bytea       NOT NULL CHECK (octet_length(body_sha256) = 32),
    answer      bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (app_id, operation, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
