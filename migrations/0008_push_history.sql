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
