-- A message may be sent at an hour of each device's own clock (decision 0024).
-- oldest program: 0001
LOCK TABLE messages, plans IN ACCESS EXCLUSIVE MODE;

-- local_hour: what the clock on the wall says; null: its hour, if it has one, is the same everywhere.
-- late_at_once: who was past it when the message was accepted gets it at once; else that one is suppressed.
ALTER TABLE messages
    ADD COLUMN local_hour   timestamp,
    ADD COLUMN late_at_once boolean NOT NULL DEFAULT false;

-- How many slices were cut: members that end while they are cut are told by it, since ids are too large for that.
ALTER TABLE plans ADD COLUMN slices integer NOT NULL DEFAULT 0;

-- When a clock in a zone shows an hour; null: no such zone is known here. An hour that is left out in spring counts as if
-- the clocks had not been changed yet (02:30 shows as 03:30), one that comes twice in autumn is the second.
--
-- Names alone: the server would read IST as Israel's, which India's phones mean otherwise, and GMT+3, by POSIX, as three
-- hours west of Greenwich. GMT+03:00 is how phones write a clock that was set by hand, and lies east.
CREATE FUNCTION instant_of_hour(hour timestamp, zone text) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
    in_utc  CONSTANT timestamptz := hour AT TIME ZONE 'UTC';
    instant timestamptz;
BEGIN
    IF zone ~* '^(gmt|utc)[+-][01][0-9]:?[0-5][0-9]$' THEN
        instant := in_utc - (substr(zone, 4, 3) || ':' || right(zone, 2))::interval;
    ELSIF zone ~* '^[a-z_-]+(/[a-z_-]+)+$|^etc/(gmt|utc)[+-]?[0-9]{0,2}$' OR lower(zone) = ANY (ARRAY[
        'cet', 'cst6cdt', 'cuba', 'eet', 'egypt', 'eire', 'est', 'est5edt', 'gb', 'gb-eire', 'gmt', 'gmt+0', 'gmt-0',
        'gmt0', 'greenwich', 'hongkong', 'hst', 'iceland', 'iran', 'israel', 'jamaica', 'japan', 'kwajalein', 'libya',
        'met', 'mst', 'mst7mdt', 'navajo', 'nz', 'nz-chat', 'poland', 'portugal', 'prc', 'pst8pdt', 'roc', 'rok',
        'singapore', 'turkey', 'uct', 'universal', 'utc', 'w-su', 'wet', 'zulu']) THEN
        instant := hour AT TIME ZONE zone;
    END IF;
    -- No clock on earth stands further from UTC, and messages are planned and kept by that.
    RETURN CASE WHEN instant BETWEEN in_utc - interval '14 hours' AND in_utc + interval '12 hours' THEN instant END;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN NULL;
END $$;
