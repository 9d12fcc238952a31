-- A message with words in several languages reads its members' locales where their tokens are read; the others don't pay
-- for it. A message may name tokens that nobody registered: those get rows of their own, with ids that no registration
-- has, so that parcels hold them as they hold registrations. What a message was asked to be stays with its account, when
-- what it says has gone; messages are found by their state.
-- oldest program: 0001
ALTER TABLE messages
    ADD COLUMN reads_locale boolean NOT NULL DEFAULT false,
    ADD COLUMN has_inline   boolean NOT NULL DEFAULT false,
    ADD COLUMN push_type    smallint,
    ADD COLUMN is_dry_run   boolean NOT NULL DEFAULT false,
    ADD COLUMN asked        text;
-- Finished ones are nearly all: they are found without it.
CREATE INDEX messages_by_state ON messages (app_id, state, id DESC) WHERE state <> 6;

-- Gone with what its message says. route_id: where its first attempt leaves from; the parcel says where a later one does.
-- No foreign key to routes: they go with their app alone, as messages do, and would be looked for here one by one.
CREATE TABLE inline_targets (
    id         bigint PRIMARY KEY,
    message_id uuid   NOT NULL REFERENCES messages ON DELETE CASCADE,
    route_id   bigint NOT NULL,
    token      bytea  NOT NULL CHECK (octet_length(token) BETWEEN 1 AND 4096)
);
CREATE INDEX inline_targets_of_message ON inline_targets (message_id);
