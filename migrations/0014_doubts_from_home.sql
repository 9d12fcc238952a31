-- What the other environment of a token is asked about keeps the time of what its own environment said, and the feed
-- tells where a token was found.
-- oldest program: 0001
--
-- home_as_of: when the parcel was leased at home that home refused. Who registered later is not doubted on that word.
-- null: from a program before this one.
-- Both constraints are NOT VALID, and stay so: the columns are new, and no row that is here needs to be walked through
-- under the lock that they take.
ALTER TABLE parcels
    ADD COLUMN home_as_of timestamptz,
    ADD CONSTRAINT as_of_home CHECK (home_as_of IS NULL OR home_route_id IS NOT NULL) NOT VALID;

-- Both set: the token was found in the other environment. The entry's verdict is 6 (cleared) then, since programs before
-- this one serve the feed as well and fail at a number that they do not know: to them the token was accepted.
ALTER TABLE feedback
    ADD COLUMN from_environment smallint,
    ADD COLUMN to_environment   smallint,
    ADD CONSTRAINT environments_of_found CHECK (
        num_nonnulls(from_environment, to_environment) = 0
        OR verdict = 6 AND num_nonnulls(from_environment, to_environment) = 2) NOT VALID;
