-- Planners go round the apps (decision 0036): a crowd of one app's messages keeps no other app's waiting.
-- oldest program: 0001
--
-- Few rows: as many as messages wait to be planned, which the gateway bounds (CARILLON_BACKLOG_MESSAGES).
LOCK TABLE plans IN ACCESS EXCLUSIVE MODE;

-- Whose the message is. No foreign key: a plan goes with its message, and that with its app.
ALTER TABLE plans ADD COLUMN app_id bigint;
UPDATE plans SET app_id = m.app_id FROM messages m WHERE m.id = plans.message_id;

-- A program before this one doesn't say it. Once its statement is done: only then is the message there, which the same
-- statement may write.
CREATE FUNCTION plans_get_apps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE plans SET app_id = (SELECT app_id FROM messages WHERE id = NEW.message_id) WHERE message_id = NEW.message_id;
    RETURN NULL;
END $$;
CREATE TRIGGER plans_get_apps AFTER INSERT ON plans
    FOR EACH ROW WHEN (NEW.app_id IS NULL) EXECUTE FUNCTION plans_get_apps();

-- plans_in_turn stays for programs before this one.
CREATE INDEX plans_of_apps ON plans (priority, app_id, planned_at NULLS FIRST, message_id);
