-- The feed is read by numbers that are given to its rows after they are committed, in one step at a time: what commits
-- late gets a later number, and no cursor skips it. Until here cursors were numbers of transactions, which mean nothing
-- in another cluster: after a dump and a restore old rows were hidden, and new ones lay before every cursor.
-- number: null until somebody reads. The column xact and its index serve programs before this one; they go later.
-- oldest program: 0001
ALTER TABLE feedback ADD COLUMN number bigint;
CREATE UNIQUE INDEX feedback_numbered ON feedback (app_id, number) WHERE number IS NOT NULL;
CREATE INDEX feedback_unnumbered ON feedback (app_id, id) WHERE number IS NULL;
