-- What became of a message is counted by provider too, and told push by push: who was tried, ended, refused, and when.
-- Until here the account of a message was one sum, and a parcel took the names of its members with it when it ended.
-- oldest program: 0001
--
-- Programs before this one settle without a word in either table: there the providers' counts stay below the message's,
-- never above, and the pushes that such a program ended are missing in the history.

-- Pushes that are settled for good and whose parcels are gone, like the counts of `messages`, by the provider of the
-- route on which they ended. What ended before it had a route (an unknown device) is in none. Kept as long as the message.
CREATE TABLE message_providers (
    message_id   uuid     NOT NULL REFERENCES messages ON DELETE CASCADE,
    provider     smallint NOT NULL,
    accepted     bigint   NOT NULL CHECK (accepted >= 0),
    rejected     bigint   NOT NULL CHECK (rejected >= 0),
    unregistered bigint   NOT NULL CHECK (unregistered >= 0),
    expired      bigint   NOT NULL CHECK (expired >= 0),
    suppressed   bigint   NOT NULL CHECK (suppressed >= 0),
    cancelled    bigint   NOT NULL CHECK (cancelled >= 0),
    gave_up      bigint   NOT NULL CHECK (gave_up >= 0),
    PRIMARY KEY (message_id, provider)
) WITH (fillfactor = 80);

-- What each settle did with which members: one row for each way in which they ended, or went on after an attempt. Written
-- in the transaction of the settle. A failure list and the story of one push are read from here; nothing counts with it.
-- The rows hold no name of a device, but the ids of registrations, so that who is erased is nameless here at once.
-- state: a terminal state, or 0: they go on. reason: the ending's, or why they wait. settle: the how-manieth of its
-- parcel. members: like those of parcels. Message ids rise with time (UUIDv7): each partition has a day's messages, and
-- goes with them. Without its day's partition a row lies in the last one, and is deleted by itself.
CREATE TABLE push_history (
    message_id   uuid        NOT NULL,
    parcel_id    bigint      NOT NULL,
    settle       integer     NOT NULL,
    place        smallint    NOT NULL,
    route_id     bigint      NOT NULL,
    state        smallint    NOT NULL CHECK (state BETWEEN 0 AND 7),
    reason       text        NOT NULL,
    attempts     smallint    NOT NULL,
    at           timestamptz NOT NULL,
    first_member bigint      NOT NULL,
    last_member  bigint      NOT NULL CHECK (last_member >= first_member),
    member_count integer     NOT NULL CHECK (member_count > 0),
    members      bytea       NOT NULL,
    PRIMARY KEY (message_id, parcel_id, settle, place)
) PARTITION BY RANGE (message_id);
-- Delta-coded or a bitmap: compressing it again would cost time and save nothing.
ALTER TABLE push_history ALTER COLUMN members SET STORAGE EXTERNAL;
CREATE TABLE push_history_rest PARTITION OF push_history DEFAULT;

-- Why the members of a parcel that is not their first wait; null: their first, or written by a program before this one.
ALTER TABLE parcels ADD COLUMN waits_for text;
