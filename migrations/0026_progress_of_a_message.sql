-- Whoever follows a message sees why pushes ended, provider by provider, and which of them wait for a provider that
-- can't be reached (decision 0027).
-- oldest program: 0001

-- What `message_reasons` holds, by the provider of the route on which the pushes ended. Written in the same settles; those
-- of a program before this one stay below it, never above. What ended before it had a route is in none.
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

-- Lanes that can't reach their provider, as each process finds it (decision 0008). Told again while it lasts: a row that
-- was not told for a minute is of a process that has ended. Nothing is decided by it.
CREATE TABLE lane_outages (
    credential_id bigint      NOT NULL REFERENCES credentials ON DELETE CASCADE,
    process       uuid        NOT NULL,
    reason        text        NOT NULL,
    since         timestamptz NOT NULL,
    told_at       timestamptz NOT NULL,
    PRIMARY KEY (credential_id, process)
);
