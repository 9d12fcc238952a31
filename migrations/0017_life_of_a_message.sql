-- A message is paused, resumed, cancelled, or waits for its hour (decision 0022).
-- oldest program: 0001
--
-- What must not be leased while its message is paused or being cancelled has a state of its own, which no index of what
-- is ready holds, and no program before this one looks for. NOT VALID, and stays so: it allows more than the one that it
-- replaces, so that no row needs to be walked through.
LOCK TABLE parcels, messages IN ACCESS EXCLUSIVE MODE;

-- state: 1 ready, 2 leased, 3 held.
ALTER TABLE parcels DROP CONSTRAINT leased_has_owner, ADD CONSTRAINT leased_has_owner CHECK (
    (state IN (1, 3) AND owner IS NULL AND lease_until IS NULL)
    OR (state = 2 AND owner IS NOT NULL AND lease_until IS NOT NULL)) NOT VALID;
-- Which messages have held parcels, whatever became of them since.
CREATE INDEX parcels_held ON parcels (message_id, id) WHERE state = 3;

-- due_at: when it was asked to be sent; null: at once. Its expires_at counts from there.
ALTER TABLE messages ADD COLUMN due_at timestamptz;

-- Messages that are paused, or cancelled and not yet accounted for to the last push: a table, since an index on messages
-- would be built over all there ever were.
CREATE TABLE stops (
    message_id uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    stopped_at timestamptz NOT NULL
);

-- Messages that wait for their hour. What stands here becomes a plan when it falls due, and only then is its horizon
-- read: planners find nothing of it before. format: of the plan.
CREATE TABLE schedules (
    message_id    uuid        PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    due_at        timestamptz NOT NULL,
    format        smallint    NOT NULL,
    priority      smallint    NOT NULL,
    after_message uuid
);
CREATE INDEX schedules_in_turn ON schedules (due_at, message_id);
