-- Before a message is taken, the app's unfinished ones are counted: single ones apart from broadcasts (decision 0042).
-- oldest program: 0001
CREATE INDEX messages_unfinished ON messages (app_id, priority) WHERE state < 6;
DROP INDEX messages_open;
