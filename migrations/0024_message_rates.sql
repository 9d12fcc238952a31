-- A message may be sent at so many pushes a second, whichever processes send it (decision 0025).
-- oldest program: 0001
--
-- What waits for its message's rate has a state of its own, as what is stopped has: no index of what is ready holds it,
-- so that it stands in nobody's way, and no program before this one leases it. NOT VALID, and stays so: it allows more
-- than the one that it replaces.
LOCK TABLE messages, parcels IN ACCESS EXCLUSIVE MODE;

-- null: as fast as its providers take it.
ALTER TABLE messages ADD COLUMN rate_per_second integer CHECK (rate_per_second > 0);

-- state: 1 ready, 2 leased, 3 held, 4 paced.
ALTER TABLE parcels DROP CONSTRAINT leased_has_owner, ADD CONSTRAINT leased_has_owner CHECK (
    (state IN (1, 3, 4) AND owner IS NULL AND lease_until IS NULL)
    OR (state = 2 AND owner IS NOT NULL AND lease_until IS NOT NULL)) NOT VALID;
-- The next one of a message on a route, and which routes it waits on.
CREATE INDEX parcels_paced ON parcels (message_id, route_id, due_at, id) WHERE state = 4;

-- One row for each message that has a rate and is not over. next_at: when the next share of it may be leased; each
-- lease moves it on by the time that its pushes take at the rate.
CREATE TABLE message_rates (
    message_id uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    app_id     bigint      NOT NULL,
    next_at    timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off);
-- A lease looks at those of its route's app alone. Without next_at, so that a share changes no index.
CREATE INDEX message_rates_of_app ON message_rates (app_id);
