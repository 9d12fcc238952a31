-- Local times and daily counts: local send times, quiet hours and daily caps (decisions 0024 and 0026).

-- The instant at which a clock in a zone shows a local time; null: the zone is not known here. A time that is skipped
-- in spring counts as if the clocks had not been changed yet (02:30 shows as 03:30). A time that occurs twice in autumn
-- means the second one.
--
-- Only names of zones are accepted, and GMT+03:00, which is how phones write a clock that was set by hand. The server
-- would read IST as Israel's, which phones in India mean otherwise. It would read GMT+3, by POSIX, as three hours west
-- of Greenwich.
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
    -- No clock on earth is further from UTC; planning and retention of messages rely on that.
    RETURN CASE WHEN instant BETWEEN in_utc - interval '14 hours' AND in_utc + interval '12 hours' THEN instant END;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN NULL;
END $$;

-- The end of the quiet hours from one local time to another, on a clock in a zone; null: they have not begun. If the
-- zone is not known here, the other zone's clock is used.
--
-- Both ends are found by instant_of_hour: a time that occurs twice is the second, a skipped one comes an hour later.
-- The begin is also looked for by the time an hour before it, which finds the first of two. The time an hour after it
-- finds a skipped one as if the clocks had been changed already. Both use a whole hour: on Lord Howe Island, where
-- clocks change by half an hour, these nights begin half an hour early.
CREATE FUNCTION quiet_until(instant timestamptz, hour_from time, hour_to time, zone text, other_zone text)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT span.ended
    FROM (SELECT (instant AT TIME ZONE 'UTC')::date AS today, CASE
            WHEN instant_of_hour(instant AT TIME ZONE 'UTC', zone) IS NOT NULL THEN zone
            WHEN instant_of_hour(instant AT TIME ZONE 'UTC', other_zone) IS NOT NULL THEN other_zone
            ELSE 'UTC' END AS zone) AS clock
    -- Yesterday's quiet hours may still last, and the local date is at most one day off.
    CROSS JOIN generate_series(-2, 1) AS away
    CROSS JOIN LATERAL (SELECT clock.today + away + hour_from AS shown,
        instant_of_hour(clock.today + away + hour_from, clock.zone) AS began,
        instant_of_hour(clock.today + away + (hour_to <= hour_from)::integer + hour_to, clock.zone) AS ended) AS span
    WHERE instant < span.ended AND CASE
        WHEN instant >= span.began THEN true
        WHEN instant < span.began - interval '1 hour' THEN false
        ELSE instant >= least(
            instant_of_hour(span.shown - interval '1 hour', clock.zone) + interval '1 hour',
            instant_of_hour(span.shown + interval '1 hour', clock.zone) - interval '1 hour') END
    ORDER BY span.ended DESC LIMIT 1
$$;

-- The day on a clock in a zone, or in Greenwich if the zone is not known here.
CREATE FUNCTION day_of(instant timestamptz, zone text) RETURNS date LANGUAGE sql STABLE AS $$
    SELECT coalesce(max(day), (instant AT TIME ZONE 'UTC')::date)
    FROM generate_series(-1, 1) AS away
    CROSS JOIN LATERAL (SELECT (instant AT TIME ZONE 'UTC')::date + away AS day) AS today
    WHERE instant_of_hour(day + time '00:00', zone) <= instant
$$;

-- The messages that a user got on a day of the app's clock, at most as many as the app's cap allows. who is 'user:' and
-- the registrations' user, or 'device:' and the id of a registration without one. There is no foreign key: rows of a
-- deleted app are deleted with their day.
CREATE TABLE user_days (
    day      date   NOT NULL,
    app_id   bigint NOT NULL,
    who      text   COLLATE "C" NOT NULL,
    messages uuid[] NOT NULL,
    PRIMARY KEY (day, app_id, who)
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    vacuum_index_cleanup = on);
