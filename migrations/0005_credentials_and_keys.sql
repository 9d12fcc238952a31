-- Proofs of the gateway to providers, and of clients to the gateway. Secrets are sealed: AES-256-GCM under the master
-- key.

-- facts holds no secret.
-- A slot is (app, provider, environment, set of topics, sorted); it has at most one active credential.
-- whole_topics has the topics that a certificate covers, push types' suffixes included. A suffix alone, or the empty
-- text, stands for registrations without a topic. An empty list belongs to a key: it covers every push type.
-- A credential for both environments is two rows with the same submission, which is the id of the first.
CREATE TABLE credentials (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    submission   bigint      NOT NULL,
    app_id       bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    provider     smallint    NOT NULL,
    environment  smallint    NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('token', 'certificate', 'service_account', 'client')),
    topics       text[]      NOT NULL DEFAULT '{}',
    whole_topics text[]      NOT NULL DEFAULT '{}',
    facts        jsonb       NOT NULL DEFAULT '{}',
    sealed       bytea       NOT NULL,
    state        smallint    NOT NULL DEFAULT 1 CHECK (state IN (1, 2, 3)), -- 1 staged, 2 active, 3 retired
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    activated_at timestamptz,
    retired_at   timestamptz
);
CREATE UNIQUE INDEX credentials_one_active ON credentials (app_id, provider, environment, topics)
    WHERE state = 2; -- 2 active

-- A credential that the provider refused: no process leases for it before `until`. Announced by NOTIFY. blocked_at is
-- the first refusal of a row of them.
CREATE TABLE lane_blocks (
    credential_id bigint      PRIMARY KEY REFERENCES credentials ON DELETE CASCADE,
    reason        text        NOT NULL,
    blocked_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    until         timestamptz NOT NULL
);

-- Lanes, or single routes on them, that can't send, as each process judges by itself (decisions 0008 and 0040). A
-- process repeats its report. A row that was not reported for a minute belongs to a process that has ended. No decision
-- depends on this table.
--
-- cause: 7 unreachable, 8 throttled, 9 no token, 10 credential unusable, 11 topic refused, 12 topic missing.
CREATE TABLE lane_outages (
    credential_id bigint      NOT NULL REFERENCES credentials ON DELETE CASCADE,
    process       uuid        NOT NULL,
    -- The route and its service that wait; 0: all of the lane.
    route_id      bigint      NOT NULL DEFAULT 0,
    service       smallint    NOT NULL DEFAULT 0,
    cause         smallint    NOT NULL CHECK (cause BETWEEN 7 AND 12), -- as above
    reason        text        NOT NULL,
    since         timestamptz NOT NULL,
    reported_at   timestamptz NOT NULL,
    -- The end of a throttled lane's pause.
    open_until    timestamptz,
    PRIMARY KEY (credential_id, process, route_id, service)
);

-- The signed provider token of a key, shared by all processes, sealed. A row without one: a process is about to sign.
CREATE TABLE provider_tokens (
    key_fingerprint bytea PRIMARY KEY,
    sealed          bytea,
    issued_at       timestamptz,
    CHECK ((sealed IS NULL) = (issued_at IS NULL))
);

-- The processes that send to a project whose quota they divide (decision 0033). Each writes its row once a second, and
-- counts those of the last three seconds.
CREATE TABLE project_senders (
    project  text        NOT NULL CHECK (octet_length(project) BETWEEN 1 AND 100),
    process  uuid        NOT NULL,
    heard_at timestamptz NOT NULL,
    PRIMARY KEY (project, process)
) WITH (fillfactor = 50);

-- Shows at the start whether the master key is the one that sealed this database's secrets.
CREATE TABLE master_key_proof (
    id     smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    sealed bytea    NOT NULL
);

-- API keys other than the operator's. Only their SHA-256 is stored.
CREATE TABLE api_keys (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- null: the key is valid for all apps.
    app_id       bigint      REFERENCES apps ON DELETE CASCADE,
    name         text        NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 64),
    scopes       text[]      NOT NULL CHECK (cardinality(scopes) > 0),
    sha256       bytea       NOT NULL UNIQUE CHECK (octet_length(sha256) = 32),
    -- The last characters of the key, by which people recognize it.
    hint         text        NOT NULL CHECK (octet_length(hint) = 4),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The name of the key that created it, which may be revoked since. null: the operator's key.
    created_by   text        CHECK (octet_length(created_by) BETWEEN 1 AND 64),
    expires_at   timestamptz,
    last_used_at timestamptz,
    CONSTRAINT api_keys_name UNIQUE NULLS NOT DISTINCT (app_id, name)
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
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
