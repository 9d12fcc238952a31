-- All processes share a provider's quota, of which each knew only its own part (decision 0033).
-- oldest program: 0001

-- One row for each project that is sent to: who may use which part of its quota, as `QuotaBook` says. Written once a
-- second by each process that sends, never by one that has nothing to send. A program before this one does not know of
-- it, and takes the whole for its own.
CREATE TABLE project_quotas (
    project    text          PRIMARY KEY CHECK (octet_length(project) BETWEEN 1 AND 100),
    ramp_since timestamptz,
    asked_at   timestamptz,
    -- One for each process, in the same order; parts of a million.
    processes  uuid[]        NOT NULL DEFAULT '{}',
    numbers    bigint[]      NOT NULL DEFAULT '{}',
    wants      integer[]     NOT NULL DEFAULT '{}',
    parts      integer[]     NOT NULL DEFAULT '{}',
    heard_at   timestamptz[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);
