-- How each table that grows or turns over is kept small and its indexes short. The server's own settings wait until a
-- fifth of a table is dead: two million rows of a registry of ten million, and nearly all of what is kept for good.
-- docs/operations.md says it for operators, TableSettingsTests for every table there is.
-- oldest program: 0001
--
-- Nothing here waits for readers or writers, and none of them waits for it; an autovacuum that is at one of the tables
-- gives way. Pages that are there keep how full they are, and give room once their rows are written anew.
LOCK TABLE registrations, registration_tags, registration_pulse, parcels, plans, stops, schedules, suspicions, messages,
    message_reasons, message_providers, message_contents, inline_targets, feedback, idempotency_keys, route_minutes,
    push_history IN SHARE UPDATE EXCLUSIVE MODE;

-- The registry. One row in fifty, since a vacuum passes through all eight indexes whatever it finds: 200,000 of ten
-- million. After new rows earlier still: planners and audiences read registrations_planning and the tags by index
-- alone, and visit a row's page unless a vacuum has called it visible to all. A tenth of each page stays free: a new
-- app version or locale is then written into the page of the old row, and into no index at all.
ALTER TABLE registrations SET (
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE registration_tags SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);

-- Half of each page is free, and each update clears away what the one before left on it: no vacuum is needed for that.
-- At one in twenty a broadcast to all of ten million was followed by one vacuum after the other while it ran, each
-- through the whole table, for pages that the next broadcast cleans itself. What is left to it are devices that went.
-- No plan hangs on what stands in these rows: statistics of them are made as seldom.
ALTER TABLE registration_pulse SET (
    autovacuum_vacuum_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.5);

-- Queues: rows live for seconds, and how many there are says nothing of how many there were. Counted in rows, not in
-- shares, at full pace (they are small), and with their indexes always: whoever looks for the next row passes all dead
-- ones before it. They never give pages back: they need them again at once, and cutting a table's end off shuts it.
ALTER TABLE parcels SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 4000,
    toast.autovacuum_vacuum_cost_delay = 0, toast.vacuum_truncate = off);
ALTER TABLE plans SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);
ALTER TABLE stops SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);
ALTER TABLE schedules SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);
ALTER TABLE suspicions SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off);

-- Accounts, which stay for ever: only those of the last messages change, within their pages, so that a share of all there
-- ever were would be reached once in years. A vacuum passes over the pages that nothing touched.
ALTER TABLE messages SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE message_reasons SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE message_providers SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05);

-- What retention takes away goes from one end of an index on, 5,000 rows at a time, and each time passes what went before
-- and was not vacuumed. The dead rows lie together, on so few pages that a vacuum of its own mind leaves the indexes
-- alone: it is told not to.
ALTER TABLE message_contents_rest SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
ALTER TABLE inline_targets SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
ALTER TABLE feedback SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
ALTER TABLE idempotency_keys SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
ALTER TABLE route_minutes SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);
ALTER TABLE push_history_rest SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on);

-- Days of the history are written once and dropped whole. They are frozen by the first vacuum that comes, so that no later
-- one has to read them again, to save transaction numbers. HistoryPartitions makes the days to come likewise.
DO $$
DECLARE
    day regclass;
BEGIN
    FOR day IN SELECT inhrelid::regclass FROM pg_inherits
        WHERE inhparent = 'push_history'::regclass AND inhrelid <> 'push_history_rest'::regclass
    LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_freeze_min_age = 0, toast.autovacuum_freeze_min_age = 0)', day);
    END LOOP;
END $$;
