-- What a broadcast to all costs the registry: less of each row is read, and no vacuum follows.
-- oldest program: 0001
--
-- The index takes one walk through the registrations, while which writers wait: some seconds for ten million.
-- Nobody who reads or writes waits for the first lock.
LOCK TABLE registration_pulse IN SHARE UPDATE EXCLUSIVE MODE;
LOCK TABLE registrations IN SHARE MODE;

-- Each lease asks which of its members were looked for in both environments: hardly any. In a row that word stands behind
-- all that a device says of itself, which had to be taken apart for each member of each broadcast.
CREATE INDEX registrations_compared ON registrations (id) WHERE environments_compared = generation;

-- A broadcast leaves one dead version of each row, which the next one clears away on its page. At one in two a vacuum and
-- an analyze of the whole table came after every broadcast all the same, for nothing. A page has room for one dead row
-- beside each live one, so that changes in their pages alone never reach two; devices that went do, and new rows and old
-- transactions have thresholds of their own.
ALTER TABLE registration_pulse SET (
    autovacuum_vacuum_scale_factor = 2, autovacuum_analyze_scale_factor = 20);
