-- Entries of the feed go when they have outlived their retention. A cursor from before one that went is told so, and skips
-- nothing in silence: here stands, for each app, the highest number of an entry that retention took.
-- oldest program: 0001
--
-- Feedback and the contents of messages go row by row, from the lowest id on, by the keys that they have: a bounded number
-- at a time. Partitions by time would drop faster. But each would cost both tables their unique keys or a lock that every
-- message and verdict waits for, a table that is there can't become partitioned beside programs at work, and both have
-- rows that stay longer than their neighbours: what a message says, until it is over (decision 0019).
-- A program before this one sweeps no feedback, and doesn't look here: it would say nothing of what is missing.
CREATE TABLE feedback_swept (
    app_id  bigint PRIMARY KEY REFERENCES apps ON DELETE CASCADE,
    through bigint NOT NULL
);
