-- A request may hold several messages, one push each, in order: a message is planned once each push of the one before it
-- has had its first attempt. Plans of such messages have a format that the program before this one doesn't plan.
-- oldest program: 0001
ALTER TABLE plans ADD COLUMN after_message uuid;
