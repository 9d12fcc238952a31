-- The verdicts of providers' answers about tokens, and the feedback that the app's backend reads.

-- Suspicions: unconfirmed verdicts that a token may be bad, until the window, the share and the sample confirm or drop
-- them (P5). suspected_again_at is when the token was last suspected again. due_at is when a process next judges it.
CREATE TABLE suspicions (
    registration_id    bigint      PRIMARY KEY REFERENCES registrations ON DELETE CASCADE,
    route_id           bigint      NOT NULL,
    generation         integer     NOT NULL,
    reason             text        NOT NULL,
    suspected_at       timestamptz NOT NULL,
    suspected_again_at timestamptz,
    due_at             timestamptz NOT NULL DEFAULT now()
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);
CREATE INDEX suspicions_due ON suspicions (due_at, registration_id);

-- The number of answers on each route, and the number of those that raised a suspicion: the sample and the share, over
-- all processes. found counts tokens that the other environment accepted. If they are too many, none of them moves.
CREATE TABLE route_minutes (
    route_id  bigint      NOT NULL REFERENCES routes ON DELETE CASCADE,
    minute    timestamptz NOT NULL,
    answered  bigint      NOT NULL DEFAULT 0,
    suspected bigint      NOT NULL DEFAULT 0,
    found     bigint      NOT NULL DEFAULT 0,
    PRIMARY KEY (route_id, minute)
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    vacuum_index_cleanup = on);

-- verdict: 1 retired, 2 suspected, 3 replaced, 4 moved, 5 undone, 6 cleared, 7 environment_changed.
-- number is the cursor of the feedback. It is given after the commit, in one step at a time, so that no cursor skips a
-- row that commits late (decision 0007). null: the row has not been read yet. undone_at makes a repeated undo have one
-- effect.
CREATE TABLE feedback (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id           bigint      NOT NULL REFERENCES apps ON DELETE CASCADE,
    number           bigint,
    registration_id  bigint      NOT NULL,
    generation       integer     NOT NULL,
    installation     text        NOT NULL,
    kind             smallint    NOT NULL,
    provider         smallint    NOT NULL,
    verdict          smallint    NOT NULL CHECK (verdict BETWEEN 1 AND 7), -- as above
    reason           text        NOT NULL,
    from_environment smallint,
    to_environment   smallint,
    at               timestamptz NOT NULL DEFAULT clock_timestamp(),
    undone_at        timestamptz,
    CONSTRAINT environments_of_found CHECK (
        num_nonnulls(from_environment, to_environment)
            = CASE WHEN verdict = 7 /* environment_changed */ THEN 2 ELSE 0 END)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
CREATE UNIQUE INDEX feedback_numbered ON feedback (app_id, number) WHERE number IS NOT NULL;
CREATE INDEX feedback_unnumbered ON feedback (app_id, id) WHERE number IS NULL;
-- Entries get another name when a user is erased.
CREATE INDEX feedback_of_installation ON feedback (app_id, installation);

-- The highest number of an entry that retention deleted. A cursor from before it is refused.
CREATE TABLE feedback_swept (
    app_id  bigint PRIMARY KEY REFERENCES apps ON DELETE CASCADE,
    through bigint NOT NULL
);
