-- Whoever follows a message sees how fast it goes, since a pause as well, and whatever else is sent on its routes
-- (decision 0027).
-- oldest program: 0001

-- How many pushes of a message settles have ended at a provider, when the last of them did, and two looks at that count, taken by
-- settles at least 15 seconds apart. A resume and another rate delete them, and the next settle begins anew; a message that is
-- done with one settle has none. Programs before this one settle without a word here: their part is missing in the pace.
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
